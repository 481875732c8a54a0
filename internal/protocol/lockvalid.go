package protocol

import (
	"errors"
	"time"
)

// Validate returns every fault of c, joined; nil when there is none. Stores refuse a claim that has
// any. The error matches [ErrPermanent].
func (c LockClaim) Validate() error {
	// The usual case costs no allocation: it is on the way of every claim.
	if ValidName(c.Name) && ValidName(c.Holder) && ValidName(c.Request) && c.TTL >= time.Millisecond &&
		c.Permits >= 1 && c.Permits <= c.Limit && c.Limit <= MaxPermits && c.Order >= OrderAny && c.Order <= OrderLargest && c.validTicket() &&
		c.Known >= 0 && c.Known < MaxTick {
		return nil
	}
	f := faults{of: "lock claim"}
	f.check(ValidName(c.Name), "name", c.Name, NameRule)
	f.check(ValidName(c.Holder), "holder", c.Holder, NameRule)
	f.check(ValidName(c.Request), "request", c.Request, NameRule)
	f.check(c.TTL >= time.Millisecond, "ttl", c.TTL, "must be at least 1ms")
	f.check(c.Limit >= 1 && c.Limit <= MaxPermits, "limit", c.Limit, "must be from 1 to 2147483647")
	f.check(c.Permits >= 1 && c.Permits <= max(c.Limit, 1), "permits", c.Permits, "must be from 1 to the limit")
	f.check(c.Order >= OrderAny && c.Order <= OrderLargest, "order", int(c.Order), "must be one of the Order constants")
	f.check(c.validTicket(), "waiter ttl", c.WaiterTTL, "must be from 1ms to 1h, or 0")
	f.check(c.Known >= 0 && c.Known < MaxTick, "known", c.Known, "must be from 0 to 2^53-2")
	return Permanent(errors.Join(f.all...))
}

func (c *LockClaim) validTicket() bool {
	return c.WaiterTTL == 0 || c.WaiterTTL >= time.Millisecond && c.WaiterTTL <= MaxWaiterTTL
}

// Validate returns every fault of g, joined; nil when there is none. Stores refuse to renew what
// has any.
func (g LockGrant) Validate() error {
	if g.Token <= 0 {
		return errors.Join(g.ValidateRelease(), faultOf("lock grant", "token", g.Token, "must be from 1 to 2^53-1"))
	}
	return g.ValidateRelease()
}

// ValidateRelease is Validate for a grant that is released, whose Token may be 0.
func (g LockGrant) ValidateRelease() error {
	if ValidName(g.Name) && ValidName(g.Holder) && ValidName(g.Request) && g.Token >= 0 && g.Token <= MaxTick &&
		g.TTL >= time.Millisecond && g.Permits >= 1 && g.Permits <= g.Limit && g.Limit <= MaxPermits {
		return nil
	}
	f := faults{of: "lock grant"}
	f.check(ValidName(g.Name), "name", g.Name, NameRule)
	f.check(ValidName(g.Holder), "holder", g.Holder, NameRule)
	f.check(ValidName(g.Request), "request", g.Request, NameRule)
	f.check(g.Token >= 0 && g.Token <= MaxTick, "token", g.Token, "must be at most 2^53-1")
	f.check(g.TTL >= time.Millisecond, "ttl", g.TTL, "must be at least 1ms")
	f.check(g.Limit >= 1 && g.Limit <= MaxPermits, "limit", g.Limit, "must be from 1 to 2147483647")
	f.check(g.Permits >= 1 && g.Permits <= max(g.Limit, 1), "permits", g.Permits, "must be from 1 to the limit")
	return errors.Join(f.all...)
}
