package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/record"
	"github.com/solotick/solotick/lease/driver"
)

// recordWork is the work on a record for one request at a time, and what is asked and answered.
type recordWork struct {
	work
	record  record.Record
	claim   protocol.Claim
	answer  protocol.Answer
	grant   protocol.Grant
	outcome protocol.Outcome // to settle the grant with; "" to release it
	refused error            // the rule's answer
	own     ownFuncs
}

// ownFuncs are functions of a work that outlast its requests: each would be an allocation.
type ownFuncs struct {
	claim, end func(at *record.Moment) []driver.Notification
	granted    func(guessed, token int64, now time.Time)
}

var recordWorks = sync.Pool{New: func() any {
	w := new(recordWork)
	w.ends, w.own = w.before.ends, ownFuncs{w.claimRule, w.endRule, w.granted}
	return w
}}

// workOn makes the work on a record. The caller must free it.
func workOn(name string) *recordWork {
	w := recordWorks.Get().(*recordWork)
	w.key, w.state = name, &w.record
	return w
}

func (w *recordWork) free() {
	*w = recordWork{work: work{ends: w.ends, leases: w.leases[:0]}, own: w.own}
	recordWorks.Put(w)
}

// one applies the rule of the work, and says in its error for what.
func (s *Session) one(ctx context.Context, what string, w *recordWork) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if s.apply(ctx, &w.work); w.over && w.err == nil { // if this fails, they take room and no more
		_ = errors.Join(s.removeJournal(ctx, w.key), s.removeProgress(ctx, w.key))
	}
	return failed(what, w.key, w.err)
}

func failed(what, name string, err error) error {
	if err != nil {
		return fmt.Errorf("%s %q: %w", what, name, err)
	}
	return nil
}

// about is a notification about a name, none unless wake.
func about(wake bool, name string, tick int64) []driver.Notification {
	if !wake {
		return nil
	}
	return []driver.Notification{{Name: name, Tick: tick}}
}

// Claim implements [protocol.Store].
func (s *Session) Claim(ctx context.Context, c protocol.Claim) (a protocol.Answer, err error) {
	if err := c.Validate(); err != nil {
		return protocol.Answer{}, err
	}
	w := workOn(c.Name)
	defer w.free()
	w.claim, w.due, w.rule, w.made = c, c.NotBefore, w.own.claim, w.own.granted
	if err := s.one(ctx, "claim", w); err != nil {
		return protocol.Answer{}, err
	}
	return w.answer, nil
}

func (w *recordWork) claimRule(at *record.Moment) []driver.Notification {
	w.affirms = false
	if w.behind && w.claim.Tick > 0 { // the known record is brought back; others may know more
		w.answer = protocol.Answer{Status: protocol.Unknown, Watermark: w.claim.Known, Now: w.now}
		return nil
	}
	var wake bool
	w.answer, wake = w.record.Claim(w.claim, at)
	status := w.answer.Status
	w.affirms = status == protocol.Granted
	token, _ := at.Granted()
	w.essential = w.affirms && token == 0                                            // an earlier grant, which goes on
	w.claims = !w.essential && status != protocol.Held && status != protocol.Decided // which stays as it is
	return about(wake, w.key, 0)
}

func (w *recordWork) granted(guessed, stamped int64, now time.Time) {
	stamp(&w.answer.Token, &w.answer.Remaining, &w.answer.Now, guessed, stamped, now)
}

// stamp corrects an answer to the stamps of the store: the token and the beginning of a new lease.
// It also corrects the reckoned time, from which the remaining TTL of others was counted.
func stamp(token *int64, remaining *time.Duration, at *time.Time, guessed, stamped int64, now time.Time) {
	if guessed != 0 && *token == guessed {
		*token = stamped
	} else {
		*remaining = max(0, *remaining-now.Sub(*at))
	}
	*at = now.UTC()
}

// Settle implements [protocol.Store].
func (s *Session) Settle(ctx context.Context, g protocol.Grant, outcome protocol.Outcome) error {
	if !protocol.ValidOutcome(outcome) {
		return fmt.Errorf("settle %q: outcome %q %s", g.Name, outcome, protocol.OutcomeRule)
	}
	if err := g.Validate(); err != nil {
		return err
	}
	return s.end(ctx, "settle", &g, outcome)
}

// Release implements [protocol.Store].
func (s *Session) Release(ctx context.Context, g protocol.Grant) error {
	if err := g.Validate(); err != nil {
		return err
	}
	return s.end(ctx, "release", &g, "")
}

func (s *Session) end(ctx context.Context, what string, g *protocol.Grant, outcome protocol.Outcome) error {
	w := workOn(g.Name)
	defer w.free()
	w.grant, w.outcome, w.essential, w.rule = *g, outcome, true, w.own.end
	return cmp.Or(s.one(ctx, what, w), w.refused)
}

func (w *recordWork) endRule(at *record.Moment) []driver.Notification {
	var wake bool
	wake, w.refused = w.record.End(w.grant, w.outcome, at)
	w.affirms = w.refused == nil
	return about(wake, w.key, 0)
}

// Skip implements [protocol.Store].
func (s *Session) Skip(ctx context.Context, p protocol.Skip) (watermark int64, passed bool, err error) {
	if err := p.Validate(); err != nil {
		return 0, false, err
	}
	w := workOn(p.Name)
	defer w.free()
	w.essential = true
	w.rule = func(at *record.Moment) []driver.Notification {
		w.affirms = false
		if watermark, passed = 0, false; w.behind {
			return nil // as in Claim
		}
		watermark, passed, w.refused = w.record.Skip(p, at)
		w.affirms = passed
		return nil
	}
	if err = cmp.Or(s.one(ctx, "pass", w), w.refused); err != nil {
		return 0, false, err
	}
	return watermark, passed, nil
}

// Sync implements [protocol.Store].
func (s *Session) Sync(ctx context.Context, syncs []protocol.Sync) ([]protocol.Record, error) {
	for _, y := range syncs {
		if err := y.Validate(); err != nil {
			return nil, err
		}
	}
	records, answers := make([]protocol.Record, len(syncs)), make([]error, len(syncs))
	var list []*work
	for name, parts := range group(len(syncs), func(i int) string { return syncs[i].Name }) {
		r := new(record.Record)
		w := &work{key: name, state: r}
		w.rule = func(at *record.Moment) []driver.Notification {
			for _, i := range parts {
				records[i], answers[i] = r.Sync(syncs[i], at)
				records[i].Restored = w.behind
			}
			return nil
		}
		list = append(list, w)
	}
	for batch := range slices.Chunk(list, most) {
		s.apply(ctx, batch...)
		for _, w := range batch {
			if w.err != nil {
				return nil, failed("sync", w.key, w.err)
			}
		}
	}
	if err := cmp.Or(answers...); err != nil {
		return nil, err
	}
	return records, nil
}

// most bounds the operations of one call, so that a slow batch does not hold up others for long.
const most = 64

// group returns, by key, which of n things have it.
func group(n int, key func(i int) string) map[string][]int {
	parts := make(map[string][]int, n)
	for i := range n {
		if k := key(i); k != "" {
			parts[k] = append(parts[k], i)
		}
	}
	return parts
}

// Renew implements [protocol.Store].
func (s *Session) Renew(ctx context.Context, grants []protocol.Grant) []error {
	return s.renew(ctx, len(grants), func(i int) renewal {
		g := &grants[i]
		return renewal{
			key: g.Name, name: g.Name, holder: g.Holder, token: g.Token, ttl: g.TTL,
			fault: g.Validate(), byRule: !s.asKept(g),
		}
	}, func() (record.State, func(i int, at *record.Moment) error) {
		r := new(record.Record)
		return r, func(i int, at *record.Moment) error { return r.Renew(grants[i], at) }
	})
}

// asKept reports whether nothing but the end of the lease is to change: the record has the attempt
// and the TTL.
func (s *Session) asKept(g *protocol.Grant) bool {
	v, ok := s.known.get(g.Name)
	if !ok {
		return true // the store knows better
	}
	r := s.known.take(g.Name, v)
	if r == nil {
		r = new(record.Record)
		if r.Decode(g.Name, v.Data, v.Version.Stamp, func(int64) time.Time { return time.Time{} }) != nil {
			return true
		}
	}
	defer s.known.put(g.Name, v, r)
	return !slices.ContainsFunc(r.Open, func(e record.Entry) bool {
		return e.Token == g.Token && (e.Attempt < g.Attempt || e.TTL != g.TTL)
	})
}

// Time implements [protocol.Store].
func (s *Session) Time(ctx context.Context) (now, since time.Time, err error) {
	now, since, err = s.medium().Time(ctx)
	if err == nil {
		s.clock.set(now)
	}
	return now, since, err
}

// renewal is the renewal of one grant, of a tick or of a lock.
type renewal struct {
	key, name, holder string // the key, the name for people, and the holder as the value's lease has it
	token             int64
	ttl               time.Duration
	fault             error // the answer, when it is not nil
	byRule            bool  // more than the end of the lease may change
}

// renew answers n renewals. The store extends the leases that it has; a rule is asked about the
// rest. ruled returns the state of a key, and what answers a renewal about it.
func (s *Session) renew(ctx context.Context, n int, of func(i int) renewal,
	ruled func() (record.State, func(i int, at *record.Moment) error)) []error {
	answers := make([]error, n)
	list := make([]renewal, n)
	var ops []driver.Op
	var asked []int // renewals
	rest := make(map[string][]int)
	for i := range list {
		list[i] = of(i)
		r := &list[i]
		switch {
		case r.fault != nil:
			answers[i] = r.fault
		case r.byRule:
			rest[r.key] = append(rest[r.key], i)
		default:
			ops, asked = append(ops, driver.Op{Key: r.key, Renew: &driver.Renewal{Token: r.token, Holder: r.holder, TTL: r.ttl}}), append(asked, i)
		}
	}
	for j, res := range s.medium().Do(ctx, ops) {
		i := asked[j]
		r := &list[i]
		s.clock.set(res.Now)
		switch {
		case res.Err != nil:
			answers[i] = failed("renew", r.name, res.Err)
		case res.Status == driver.Done:
			s.known.extend(r.key, r.token, res.Now.Add(r.ttl))
		default:
			rest[r.key] = append(rest[r.key], i)
		}
	}
	var works []*work
	for key, parts := range rest {
		state, answer := ruled()
		works = append(works, &work{key: key, state: state, essential: true, rule: func(at *record.Moment) []driver.Notification {
			for _, i := range parts {
				answers[i] = answer(i, at)
			}
			return nil
		}})
	}
	for batch := range slices.Chunk(works, most) {
		s.apply(ctx, batch...)
		for _, w := range batch {
			if w.err == nil {
				continue
			}
			for _, i := range rest[w.key] {
				answers[i] = failed("renew", list[i].name, w.err)
			}
		}
	}
	return answers
}
