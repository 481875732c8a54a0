package leasetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease"
)

// long is a TTL that no case waits for.
const long = time.Minute

// kept is for how long a store may keep a lease of that TTL, since its clocks may run at different
// speeds.
func kept(ttl time.Duration) time.Duration { return ttl + ttl/50 + 5*time.Millisecond }

// fixture has the store and the name of one case.
type fixture struct {
	*testing.T
	options

	store    lease.Store
	ctx      context.Context
	name     string // of a record that is synced, with watermark 0
	requests int
	policies map[string]protocol.Policy // that the fixture has brought, by name
}

func newFixture(t *testing.T, s lease.Store, o options, rule string) *fixture {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	f := &fixture{
		T: t, options: o, store: s, ctx: ctx,
		name:     fmt.Sprintf("leasetest-%.60s-%08x", rule, rand.Uint32()),
		policies: make(map[string]protocol.Policy),
	}
	f.sync(protocol.Sync{Name: f.name})
	return f
}

// other returns a name of which the store has no record.
func (f *fixture) other(suffix string) string { return f.name + "." + suffix }

// again goes on with the record of another name, with watermark 0.
func (f *fixture) again() {
	f.Helper()
	f.name = f.other("x")
	f.sync(protocol.Sync{Name: f.name})
}

type change func(*protocol.Claim)

func named(name string) change          { return func(c *protocol.Claim) { c.Name = name } }
func ttl(d time.Duration) change        { return func(c *protocol.Claim) { c.TTL = d } }
func request(id string) change          { return func(c *protocol.Claim) { c.Request = id } }
func takeovers(n int) change            { return func(c *protocol.Claim) { c.Takeovers = n } }
func overlap(o protocol.Overlap) change { return func(c *protocol.Claim) { c.Overlap = o } }
func known(watermark int64) change      { return func(c *protocol.Claim) { c.Known = watermark } }
func notBefore(at time.Time) change     { return func(c *protocol.Claim) { c.NotBefore = at } }
func notAfter(at time.Time) change      { return func(c *protocol.Claim) { c.NotAfter = at } }
func onlyOpen(c *protocol.Claim)        { c.OnlyOpen = true }

func grantOf(c protocol.Claim, a protocol.Answer) protocol.Grant {
	return protocol.Grant{
		Name: c.Name, Tick: c.Tick, Holder: c.Holder, Request: c.Request,
		Token: a.Token, Attempt: a.Attempt, Takeovers: a.Takeovers, TTL: c.TTL, Payload: a.Payload, Again: a.Again,
	}
}

// of makes a claim of the tick for holder, with a request of its own, a long TTL and three
// takeovers, but for the changes.
func (f *fixture) of(tick int64, holder string, changes ...change) protocol.Claim {
	f.requests++
	c := protocol.Claim{
		Name: f.name, Tick: tick, Holder: holder, Request: fmt.Sprintf("r%d", f.requests), TTL: long, Takeovers: 3,
	}
	for _, change := range changes {
		change(&c)
	}
	return c
}

// ask claims and wants an answer of the given status.
func (f *fixture) ask(want protocol.Status, c protocol.Claim) protocol.Answer {
	f.Helper()
	a, err := f.store.Claim(f.ctx, c)
	f.ok("Claim", err)
	if a.Status != want {
		f.Fatalf("claim of %q at %d by %s: %s, want %s: %+v", c.Name, c.Tick, c.Holder, a.Status, want, a)
	}
	return a
}

// grant claims and wants to be granted.
func (f *fixture) grant(tick int64, holder string, changes ...change) protocol.Grant {
	f.Helper()
	c := f.of(tick, holder, changes...)
	return grantOf(c, f.ask(protocol.Granted, c))
}

// expired grants for a short TTL and returns when the lease has run out.
func (f *fixture) expired(tick int64, holder string, changes ...change) protocol.Grant {
	f.Helper()
	c := f.of(tick, holder, append([]change{ttl(f.ttl)}, changes...)...)
	a := f.ask(protocol.Granted, c)
	f.until(a.Now.Add(a.Remaining))
	return grantOf(c, a)
}

// until returns when the store's clock is past t. It waits a little longer, so that a lease which
// was to end then is over in a store that keeps it longer, or estimates its time.
func (f *fixture) until(t time.Time) {
	f.Helper()
	t = t.Add(f.ttl/10 + 25*time.Millisecond)
	for {
		now := f.now()
		if now.After(t) {
			return
		}
		time.Sleep(t.Sub(now) + time.Millisecond)
	}
}

func (f *fixture) now() time.Time {
	f.Helper()
	now, _, err := f.store.Time(f.ctx)
	f.ok("Time", err)
	return now
}

func (f *fixture) sync(y protocol.Sync) protocol.Record {
	f.Helper()
	r, err := f.store.Sync(f.ctx, []protocol.Sync{y})
	f.ok("Sync", err)
	if len(r) != 1 || r[0].Name != y.Name {
		f.Fatalf("Sync of %q returned %+v", y.Name, r)
	}
	return r[0]
}

// policy makes p the policy of the fixture's record.
func (f *fixture) policy(p protocol.Policy) {
	f.Helper()
	f.equal("policy", f.sync(protocol.Sync{Name: f.name, Policy: p, Defines: true}).Policy, p)
	f.policies[f.name] = p
}

// record reads the record of the fixture's name; it is made already.
func (f *fixture) record() protocol.Record {
	f.Helper()
	return f.sync(protocol.Sync{Name: f.name})
}

func (f *fixture) forgetAll() {
	f.Helper()
	if f.forget == nil {
		f.Skip("the suite cannot make this store forget: see WithForget")
	}
	f.forget(f.T, f.store)
	clear(f.policies)
}

func (f *fixture) renew(g protocol.Grant) error {
	f.Helper()
	errs := f.store.Renew(f.ctx, []protocol.Grant{g})
	if len(errs) != 1 {
		f.Fatalf("Renew of one grant gave %d answers", len(errs))
	}
	return errs[0]
}

func (f *fixture) settle(g protocol.Grant, outcome protocol.Outcome) error {
	return f.store.Settle(f.ctx, g, outcome)
}

func (f *fixture) release(g protocol.Grant) error { return f.store.Release(f.ctx, g) }

func (f *fixture) pass(from, to int64, request string) (int64, bool) {
	f.Helper()
	watermark, passed, err := f.store.Skip(f.ctx, protocol.Skip{Name: f.name, From: from, To: to, Outcome: "missed", Request: request, Holder: "a"})
	f.ok("Pass", err)
	return watermark, passed
}

func (f *fixture) ok(verb string, err error) {
	f.Helper()
	if err != nil {
		f.Fatalf("%s: %v", verb, err)
	}
}

func (f *fixture) fenced(verb string, err error) {
	f.Helper()
	if !errors.Is(err, protocol.ErrFenced) {
		f.Fatalf("%s: %v, want protocol.ErrFenced", verb, err)
	}
}

func (f *fixture) replaced(err error) {
	f.Helper()
	if !errors.Is(err, protocol.ErrReplaced) {
		f.Fatalf("Renew: %v, want protocol.ErrReplaced", err)
	}
}

func (f *fixture) refused(what string, err error) {
	f.Helper()
	if err == nil {
		f.Fatalf("%s was not refused", what)
	}
}

func (f *fixture) equal(what string, got, want any) {
	f.Helper()
	if !reflect.DeepEqual(got, want) {
		f.Fatalf("%s: %+v, want %+v", what, got, want)
	}
}

func (f *fixture) between(what string, got, low, high time.Duration) {
	f.Helper()
	if got < low || got > high {
		f.Fatalf("%s: %s, want from %s to %s", what, got, low, high)
	}
}

func (f *fixture) above(what string, got, low int64) {
	f.Helper()
	if got <= low {
		f.Fatalf("%s: %d, want more than %d", what, got, low)
	}
}
