package protocol

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
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

// Validate returns every fault of g, joined; nil when there is none. Stores refuse to write back a
// grant with any.
func (g Grant) Validate() error {
	if ValidName(g.Name) && ValidName(g.Holder) && ValidName(g.Request) && g.Tick >= 0 && g.Tick <= MaxTick &&
		g.Token > 0 && g.Token <= MaxTick && g.Attempt >= 1 && g.Takeovers >= 0 && g.TTL >= time.Millisecond &&
		!OfStore(g.Note) && len(g.Payload) <= MaxPayload {
		return nil
	}
	f := faults{of: "grant"}
	f.check(ValidName(g.Name), "name", g.Name, NameRule)
	f.check(ValidName(g.Holder), "holder", g.Holder, NameRule)
	f.check(ValidName(g.Request), "request", g.Request, NameRule)
	f.check(g.Tick >= 0 && g.Tick <= MaxTick, "tick", g.Tick, "must be from 0 to 2^53-1")
	f.check(g.Token > 0 && g.Token <= MaxTick, "token", g.Token, "must be from 1 to 2^53-1")
	f.check(g.Attempt >= 1, "attempt", g.Attempt, "must be at least 1")
	f.check(g.Takeovers >= 0, "takeovers", g.Takeovers, "must be at least 0")
	f.check(g.TTL >= time.Millisecond, "ttl", g.TTL, "must be at least 1ms")
	f.check(len(g.Payload) <= MaxPayload, "payload", byteCount(g.Payload), PayloadRule)
	f.check(!OfStore(g.Note), "note", g.Note, "is what stores note on their own: say it in other words")
	return errors.Join(f.all...)
}

// Validate returns every fault of p, joined; nil when there is none. Stores refuse a pass that has
// any.
func (p Skip) Validate() error {
	f := faults{of: "pass"}
	f.check(ValidName(p.Name), "name", p.Name, NameRule)
	f.check(p.From >= 0, "from", p.From, "must be at least 0")
	f.check(p.To > p.From && p.To <= MaxTick, "to", p.To, "must be above from, and at most 2^53-1")
	f.check(ValidOutcome(p.Outcome), "outcome", p.Outcome, OutcomeRule)
	f.check(ValidName(p.Request), "request", p.Request, NameRule)
	f.check(ValidName(p.Holder), "holder", p.Holder, NameRule)
	return errors.Join(f.all...)
}

// Validate returns every fault of t, joined; nil when there is none. Stores refuse a trigger that
// has any.
func (t Trigger) Validate() error {
	f := faults{of: "trigger"}
	f.check(ValidName(t.Name), "name", t.Name, NameRule)
	f.check(ValidName(t.By), "by", t.By, NameRule)
	f.check(ValidName(t.Request), "request", t.Request, NameRule)
	if t.Key != "" {
		f.check(ValidName(t.Key), "key", t.Key, NameRule)
		f.check(t.Window >= time.Millisecond && t.Window <= maxWindow, "window", t.Window, "must be from 1ms to 720h")
	}
	f.check(ValidPayload(t.Payload), "payload", byteCount(t.Payload), PayloadRule)
	return errors.Join(f.all...)
}

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

// Validate returns every fault of p, joined; nil when there is none. Stores refuse a pause that has
// any.
func (p Pause) Validate() error {
	f := faults{of: "pause"}
	f.check(ValidName(p.By), "by", p.By, NameRule)
	return errors.Join(f.all...)
}

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

// Validate returns every fault of r, joined; nil when there is none. Stores refuse a resume that
// has any.
func (r Resume) Validate() error {
	f := faults{of: "resume"}
	f.check(ValidName(r.By), "by", r.By, NameRule)
	return errors.Join(f.all...)
}

// Validate returns every fault of s, joined; nil when there is none. Stores refuse a sync that has
// any.
func (s Sync) Validate() error {
	f := faults{of: "sync"}
	f.check(ValidName(s.Name), "name", s.Name, NameRule)
	f.check(s.Watermark >= 0 && s.Watermark <= MaxTick, "mark", s.Watermark, "must be from 0 to 2^53-1")
	f.check(s.Known >= 0 && s.Known <= MaxTick, "known", s.Known, "must be from 0 to 2^53-1")
	f.check(validRevision(s.Revision), "revision", s.Revision, "must hold at most 64 of ASCII's printable characters, and no space")
	s.Policy.check(&f)
	f.check(validSchedule(s.Schedule), "schedule", s.Schedule, "must hold at most 512 of ASCII's printable characters")
	if s.Paused != nil {
		f.all = append(f.all, s.Paused.Validate())
	}
	return errors.Join(f.all...)
}

func validRevision(s string) bool {
	return len(s) <= 64 && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

func validSchedule(s string) bool {
	return len(s) <= MaxSchedule && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

type faults struct {
	of  string
	all []error
}

func (f *faults) check(ok bool, field string, value any, rule string) {
	if !ok {
		f.all = append(f.all, faultOf(f.of, field, value, rule))
	}
}

func faultOf(of, field string, value any, rule string) error {
	return fmt.Errorf("lease: %s %s: %q %s", of, field, fmt.Sprint(value), rule)
}
