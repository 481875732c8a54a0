package protocol

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"
)

const (
	// FormerFor is for how long a former member is kept.
	FormerFor = 24 * time.Hour
	// MaxFormer is how many of them are kept.
	MaxFormer = 64
)

// MaxInfo is the greatest length of what a member says about itself, in bytes.
const MaxInfo = 64 << 10

// Member is one who takes part.
type Member struct {
	Holder        string
	Info          []byte
	Remaining     time.Duration // of its life, unless it is announced again
	LastHeartbeat time.Time     // when it was announced last, or taken off, by the store's clock; zero when that is not known
	Known         bool          // of [Store.MembersBut]: the caller knows the Info, which is left out
}

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

// MembersVersion identifies members together with what they say. Where Known is set, that is what
// known has for the holder.
func MembersVersion(members []Member, known map[string]string) string {
	sum := sha1.New()
	for _, m := range members {
		digest := known[m.Holder]
		if !m.Known {
			digest = InfoDigest(m.Info)
		}
		_, _ = io.WriteString(sum, m.Holder+" "+digest+"\n") // a hash cannot fail
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// InfoDigest is the digest of a member's info: the first 16 digits of its SHA-1.
func InfoDigest(info []byte) string {
	sum := sha1.Sum(info)
	return hex.EncodeToString(sum[:8])
}
