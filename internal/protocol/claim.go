package protocol

import (
	"errors"
	"fmt"
	"time"

	"github.com/solotick/solotick/internal/naming"
)

// NameRule says in words what [ValidName] checks.
const NameRule = naming.Rule

// ValidName reports whether s can be a name, a holder, a request or a namespace.
func ValidName(s string) bool { return naming.Valid(s) }

// MaxTick is the greatest tick: integers up to it are exact everywhere.
const MaxTick = 1<<53 - 1

// Validate returns every fault of c, joined; nil when there is none. Stores refuse a claim that has
// any. The error matches [ErrPermanent].
func (c Claim) Validate() error {
	// The usual case costs no allocation: it is on the way of every claim.
	if ValidName(c.Name) && ValidName(c.Holder) && ValidName(c.Request) && c.Tick >= 0 && c.Tick <= MaxTick &&
		c.TTL >= time.Millisecond && c.Takeovers >= 0 && c.Overlap >= OverlapAllow && c.Overlap <= OverlapReplace &&
		c.Known >= 0 && c.Known <= MaxTick && c.MaxHold >= 0 && c.TakeoverWithin >= 0 {
		return nil
	}
	var faults []error
	fault := func(ok bool, field string, value any, rule string) {
		if !ok {
			faults = append(faults, Permanent(fmt.Errorf("lease: claim %s: %q %s", field, fmt.Sprint(value), rule)))
		}
	}
	fault(ValidName(c.Name), "name", c.Name, NameRule)
	fault(ValidName(c.Holder), "holder", c.Holder, NameRule)
	fault(ValidName(c.Request), "request", c.Request, NameRule)
	fault(c.Tick >= 0 && c.Tick <= MaxTick, "tick", c.Tick, "must be from 0 to 2^53-1")
	fault(c.TTL >= time.Millisecond, "ttl", c.TTL, "must be at least 1ms")
	fault(c.Takeovers >= 0, "takeovers", c.Takeovers, "must be at least 0")
	fault(c.TakeoverWithin >= 0, "takeover within", c.TakeoverWithin, "must be at least 0")
	fault(c.Overlap >= OverlapAllow && c.Overlap <= OverlapReplace, "overlap", int(c.Overlap), "must be one of the Overlap constants")
	fault(c.Known >= 0 && c.Known <= MaxTick, "known", c.Known, "must be from 0 to 2^53-1")
	fault(c.MaxHold >= 0, "max hold", c.MaxHold, "must be at least 0")
	return errors.Join(faults...)
}
