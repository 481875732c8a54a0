package protocol

import (
	"errors"
	"fmt"
	"time"
)

// Heartbeat announces a member.
type Heartbeat struct {
	Holder string        // as of SendHeartbeat
	Info   []byte        // as of SendHeartbeat
	Life   time.Duration // as of SendHeartbeat; at least 1 ms

	// NotBefore and NotAfter bound the store's time, inclusive; the zero time means no bound. Out
	// of them nothing is announced or read.
	NotBefore, NotAfter time.Time
	// Before is the [InfoDigest] of the info that the caller announced last; empty when there is
	// none.
	Before string
	// Version is the Version of the members as the caller knows them; empty when it wants to read
	// them in any case. Known is as of MembersBut.
	Version string
	Known   map[string]string
}

// Pulse answers a [Heartbeat].
type Pulse struct {
	Now, Since  time.Time // as of Time
	OutOfBounds bool      // nothing was announced or read
	// Other is the info that another process has announced under Holder, after the caller's last
	// one; nil if none has.
	Other []byte
	// Version identifies the members together with their infos: it differs when any of these
	// differ.
	Version string
	// Members are those of MembersBut; nil when their Version is the one that the caller knows.
	Members []Member
}

// Validate returns every fault of the heartbeat, joined; nil when there is none.
func (h Heartbeat) Validate() error {
	faults := []error{CheckMember(h.Holder, h.Info)}
	if h.Life < time.Millisecond {
		faults = append(faults, fmt.Errorf("lease: life: %s must be at least 1ms", h.Life))
	}
	if !h.NotAfter.IsZero() && h.NotAfter.Before(h.NotBefore) {
		faults = append(faults, fmt.Errorf("lease: not after: %s must not be before %s", h.NotAfter, h.NotBefore))
	}
	return errors.Join(faults...)
}

// CheckMember returns every fault of what a member is announced with, joined; nil when there is
// none.
func CheckMember(holder string, info []byte) error {
	var faults []error
	if !ValidName(holder) {
		faults = append(faults, fmt.Errorf("lease: holder %q %s", holder, NameRule))
	}
	if len(info) > MaxInfo {
		faults = append(faults, fmt.Errorf("lease: info: %d bytes about %q, must be at most %d", len(info), holder, MaxInfo))
	}
	return errors.Join(faults...)
}
