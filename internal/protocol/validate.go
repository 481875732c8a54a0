package protocol

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/solotick/solotick/internal/naming"
)

// OutcomeRule says in words what [ValidOutcome] checks.
const OutcomeRule = "must hold 1 to 64 of a-z _"

// ValidOutcome reports whether o can be recorded.
func ValidOutcome(o Outcome) bool {
	if o == "" || len(o) > 64 {
		return false
	}
	for i := range len(o) {
		if c := o[i]; c != '_' && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// NameRule says in words what [ValidName] checks.
const NameRule = naming.Rule

// ValidName reports whether s can be a name, a holder, a request or a namespace.
func ValidName(s string) bool { return naming.Valid(s) }

// ValidRecord reports whether s can be the name of a record: a name, or JOB/KEY, of two names.
func ValidRecord(s string) bool { return naming.ValidKeyed(s) }

// MaxTick is the greatest tick: integers up to it are exact everywhere.
const MaxTick = 1<<53 - 1

// PayloadRule says in words what [ValidPayload] checks.
const PayloadRule = "must be at most 4096 bytes of UTF-8 text without NUL"

// ValidPayload reports whether s can be the payload of a trigger.
func ValidPayload(s string) bool {
	return len(s) <= MaxPayload && utf8.ValidString(s) && strings.IndexByte(s, 0) < 0
}

// byteCount stands for a payload, which may be secret.
func byteCount(s string) string { return fmt.Sprintf("%d bytes", len(s)) }

const (
	maxWindow = 30 * 24 * time.Hour
	maxEvery  = 365 * 24 * time.Hour
	maxBurst  = 1_000_000
)

// Cut shortens text to most bytes at most, at a rune's boundary, and makes it valid UTF-8.
func Cut(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// faults collects what is wrong with a request. A request that is in order costs no allocation.
type faults struct {
	of        string
	permanent bool // each matches [ErrPermanent]
	all       []error
}

// check adds a fault unless ok.
func check[T any](f *faults, ok bool, field string, value T, rule string) {
	if ok {
		return
	}
	err := fmt.Errorf("lease: %s %s: %q %s", f.of, field, fmt.Sprint(value), rule)
	if f.permanent {
		err = Permanent(err)
	}
	f.all = append(f.all, err)
}

func (f *faults) name(field, s string) { check(f, ValidName(s), field, s, NameRule) }

// record checks the name of a record.
func (f *faults) record(s string) { check(f, ValidRecord(s), "name", s, NameRule) }

// names checks what tells apart who asks for what.
func (f *faults) names(holder, request string) {
	f.name("holder", holder)
	f.name("request", request)
}

func (f *faults) tick(field string, n, least int64) {
	rule := "must be from 0 to 2^53-1"
	if least > 0 {
		rule = "must be from 1 to 2^53-1"
	}
	check(f, n >= least && n <= MaxTick, field, n, rule)
}

func (f *faults) ttl(d time.Duration) {
	check(f, d >= time.Millisecond, "ttl", d, "must be at least 1ms")
}

// notNegative checks a number or a duration.
func notNegative[T ~int | ~int64](f *faults, field string, n T) {
	check(f, n >= 0, field, n, "must be at least 0")
}

// permits checks those of a lock, of its limit.
func (f *faults) permits(permits, limit int) {
	check(f, limit >= 1 && limit <= MaxPermits, "limit", limit, "must be from 1 to 2147483647")
	check(f, permits >= 1 && permits <= max(limit, 1), "permits", permits, "must be from 1 to the limit")
}

// err joins the faults; it is nil if there are none.
func (f *faults) err() error { return errors.Join(f.all...) }

// Each Validate returns every fault of a request, joined, or nil. Stores refuse a request with any.

// Validate returns every fault of c, joined, or nil. The error matches [ErrPermanent].
func (c Claim) Validate() error {
	f := faults{of: "claim", permanent: true}
	f.record(c.Name)
	f.names(c.Holder, c.Request)
	f.tick("tick", c.Tick, 0)
	f.ttl(c.TTL)
	notNegative(&f, "takeovers", c.Takeovers)
	notNegative(&f, "takeover within", c.TakeoverWithin)
	check(&f, c.Overlap >= OverlapAllow && c.Overlap <= OverlapReplace, "overlap", int(c.Overlap), "must be one of the Overlap constants")
	f.tick("known", c.Known, 0)
	notNegative(&f, "max hold", c.MaxHold)
	return f.err()
}

// Validate returns every fault of g, joined, or nil. Stores refuse to write back a grant with any.
func (g Grant) Validate() error {
	f := faults{of: "grant"}
	f.record(g.Name)
	f.names(g.Holder, g.Request)
	f.tick("tick", g.Tick, 0)
	f.tick("token", g.Token, 1)
	check(&f, g.Attempt >= 1, "attempt", g.Attempt, "must be at least 1")
	notNegative(&f, "takeovers", g.Takeovers)
	f.ttl(g.TTL)
	if len(g.Payload) > MaxPayload {
		check(&f, false, "payload", byteCount(g.Payload), PayloadRule)
	}
	f.tick("again", g.Again, 0)
	check(&f, !OfStore(g.Note), "note", g.Note, "is what stores note on their own: say it in other words")
	return f.err()
}

// Validate returns every fault of p, joined, or nil.
func (p Skip) Validate() error {
	f := faults{of: "pass"}
	f.record(p.Name)
	notNegative(&f, "from", p.From)
	check(&f, p.To > p.From && p.To <= MaxTick, "to", p.To, "must be above from, and at most 2^53-1")
	check(&f, ValidOutcome(p.Outcome), "outcome", p.Outcome, OutcomeRule)
	f.name("request", p.Request)
	f.name("holder", p.Holder)
	return f.err()
}

// Validate returns every fault of s, joined, or nil.
func (s Sync) Validate() error {
	f := faults{of: "sync"}
	f.name("name", s.Name)
	f.tick("mark", s.Watermark, 0)
	f.tick("known", s.Known, 0)
	check(&f, len(s.Revision) <= 64 && !strings.ContainsFunc(s.Revision, func(r rune) bool { return r <= ' ' || r > '~' }),
		"revision", s.Revision, "must hold at most 64 of ASCII's printable characters, and no space")
	s.Policy.check(&f)
	check(&f, len(s.Schedule) <= MaxSchedule && !strings.ContainsFunc(s.Schedule, func(r rune) bool { return r < ' ' || r > '~' }),
		"schedule", s.Schedule, "must hold at most 512 of ASCII's printable characters")
	if s.Paused != nil {
		f.all = append(f.all, s.Paused.Validate())
	}
	return f.err()
}

func (p Policy) check(f *faults) {
	if p.Every != 0 {
		check(f, p.Every >= time.Millisecond && p.Every <= maxEvery, "policy every", p.Every, "must be from 1ms to 8760h, or 0")
		check(f, p.Burst >= 1 && p.Burst <= maxBurst, "policy burst", p.Burst, "must be from 1 to 1000000")
	}
	notNegative(f, "policy jitter", p.Jitter)
	check(f, p.History == 0 || p.History >= MinHistory && p.History <= MaxHistory, "policy history", p.History, "must be from 4 to 1000, or 0")
}

// Validate returns every fault of t, joined, or nil.
func (t Trigger) Validate() error {
	f := faults{of: "trigger"}
	f.record(t.Name)
	f.name("by", t.By)
	f.name("request", t.Request)
	if t.Key != "" {
		f.name("key", t.Key)
		check(&f, t.Window >= time.Millisecond && t.Window <= maxWindow, "window", t.Window, "must be from 1ms to 720h")
	}
	check(&f, ValidPayload(t.Payload), "payload", byteCount(t.Payload), PayloadRule)
	f.tick("again", t.Again, 0)
	return f.err()
}

// Validate returns every fault of p, joined, or nil.
func (p Pause) Validate() error {
	f := faults{of: "pause"}
	f.name("by", p.By)
	return f.err()
}

// Validate returns every fault of r, joined, or nil.
func (r Resume) Validate() error {
	f := faults{of: "resume"}
	f.name("by", r.By)
	return f.err()
}

// Validate returns every fault of c, joined, or nil.
func (c Cancel) Validate() error {
	f := faults{of: "cancel"}
	f.record(c.Name)
	f.tick("tick", c.Tick, 1)
	f.name("by", c.By)
	return f.err()
}

// Validate returns every fault of r, joined, or nil.
func (r Remove) Validate() error {
	f := faults{of: "remove"}
	f.record(r.Name)
	f.tick("mark", r.Watermark, 0)
	f.tick("token", r.Token, 0)
	return f.err()
}

// Validate returns every fault of r, joined, or nil.
func (r Repair) Validate() error {
	f := faults{of: "repair"}
	f.record(r.Name)
	return f.err()
}

// CheckNote returns every fault of what Append is given, joined, or nil.
func CheckNote(name, request string, text []byte) error {
	f := faults{of: "note"}
	check(&f, name == "" || ValidRecord(name), "name", name, NameRule+", or be empty")
	f.name("request", request)
	if len(text) > MaxNoteText {
		f.all = append(f.all, fmt.Errorf("lease: note text: has %d bytes, must have at most %d", len(text), MaxNoteText))
	}
	return f.err()
}

// Validate returns every fault of c, joined, or nil. The error matches [ErrPermanent].
func (c LockClaim) Validate() error {
	f := faults{of: "lock claim", permanent: true}
	f.name("name", c.Name)
	f.names(c.Holder, c.Request)
	f.ttl(c.TTL)
	f.permits(c.Permits, c.Limit)
	check(&f, c.Order >= OrderAny && c.Order <= OrderLargest, "order", int(c.Order), "must be one of the Order constants")
	check(&f, c.WaiterTTL == 0 || c.WaiterTTL >= time.Millisecond && c.WaiterTTL <= MaxWaiterTTL, "waiter ttl", c.WaiterTTL, "must be from 1ms to 1h, or 0")
	check(&f, c.Known >= 0 && c.Known < MaxTick, "known", c.Known, "must be from 0 to 2^53-2")
	return f.err()
}

// Validate returns every fault of g, joined, or nil.
func (g LockGrant) Validate() error { return g.validate(1) }

// ValidateRelease is Validate for a grant that is released, whose Token may be 0.
func (g LockGrant) ValidateRelease() error { return g.validate(0) }

func (g *LockGrant) validate(leastToken int64) error {
	f := faults{of: "lock grant"}
	f.name("name", g.Name)
	f.names(g.Holder, g.Request)
	f.tick("token", g.Token, leastToken)
	f.ttl(g.TTL)
	f.permits(g.Permits, g.Limit)
	return f.err()
}

// Validate returns every fault of t, joined, or nil.
func (t Take) Validate() error {
	f := faults{of: "limit"}
	f.name("name", t.Name)
	limit := t.Limit.Validate()
	if limit != nil {
		f.all = append(f.all, limit)
	}
	if t.Units < 1 || t.Units > t.Limit.Most() && limit == nil {
		check(&f, false, "units", t.Units, fmt.Sprintf("must be from 1 to %d, what can be had at once", t.Limit.Most()))
	}
	return f.err()
}

// Validate returns every fault of l, joined, or nil.
func (l Limit) Validate() error {
	const most = 1_000_000_000
	f := faults{of: "limit"}
	check(&f, l.Count >= 1 && l.Count <= most, "count", l.Count, "must be from 1 to 1000000000")
	check(&f, l.Per >= time.Millisecond && l.Per <= maxEvery, "per", l.Per, "must be from 1ms to 8760h")
	if !l.Window && len(f.all) == 0 {
		check(&f, l.Burst >= 1 && l.Burst <= most && l.Time(l.Burst) <= maxEvery, "burst", l.Burst, "must be from 1 to 1000000000, and to what comes in 8760h")
	}
	return f.err()
}
