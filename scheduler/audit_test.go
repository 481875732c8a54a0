package scheduler_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/memlease"
)

// audit is the fleet's store, with a ledger of what it did. It sits behind every fault: what it
// writes down has happened.
type audit struct {
	*memlease.Store

	mu      sync.Mutex
	other   *memlease.Store // stands by; nil for none
	lagging bool
	skew    time.Duration // of the store's clock; 0 or less, so that nothing seems to be early
	ahead   time.Duration // how far the store's clock was stepped
	most    time.Duration // the most of it
	jobs    map[string]*ledger
	faults  []string // promises that were broken

	messages memlease.Store // that of Publish, which outlives a failover as the clients' subscriptions do
}

// Publish implements [protocol.Store].
func (a *audit) Publish(ctx context.Context, message []byte) error {
	return a.messages.Publish(ctx, message)
}

// PublishTo implements [protocol.Store].
func (a *audit) PublishTo(ctx context.Context, letters []protocol.Letter) (sent bool, err error) {
	return a.messages.PublishTo(ctx, letters)
}

// Subscribe implements [protocol.Store].
func (a *audit) Subscribe(ctx context.Context, receive func(message []byte), names ...string) error {
	return a.messages.Subscribe(ctx, receive, names...)
}

func newAudit() *audit { return &audit{Store: new(memlease.Store)} }

// standBy has another store see all writes from now on, until lag.
func (a *audit) standBy() { a.other = new(memlease.Store) }

// failOver has the other store take over, with what it has seen.
func (a *audit) failOver() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.Store, a.lagging, a.other = a.other, false, nil
}

func (a *audit) lag() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lagging = true
}

// both repeats a call of the first store on the one that stands by.
func (a *audit) both(do func(*memlease.Store)) {
	if a.other != nil && !a.lagging {
		do(a.other)
	}
}

// ledger holds the history of one job's ticks.
type ledger struct {
	first  int64     // the watermark of its first record
	made   time.Time // when that was made
	token  int64     // of the last grant
	grants map[int64][]*grant
	fates  map[int64]fate
	passes []passed
	order  []int64 // ticks in the order of their first grants
}

type grant struct {
	token   int64
	attempt int
	holder  string
	request string
	at      time.Time
	renewed time.Time // at when it was last
	ended   time.Time // when it was settled or released; zero: it ran out
}

// fate is the outcome that a tick was settled with.
type fate struct {
	outcome protocol.Outcome
	token   int64 // of the grant that settled it
	at      time.Time
}

// passed is a range of skipped ticks, from exclusive and to inclusive.
type passed struct {
	from, to int64
	outcome  protocol.Outcome
	at       time.Time
}

// forgotten is the outcome of ticks that a store which had lost its record did not know of.
const forgotten protocol.Outcome = "forgotten"

func (a *audit) faultf(format string, args ...any) {
	a.faults = append(a.faults, fmt.Sprintf("%s ", time.Now().Format("15:04:05.000"))+fmt.Sprintf(format, args...))
}

// now is what the store's clock said if nobody had set it behind.
func (a *audit) now() time.Time { return time.Now().Add(a.ahead) }

func (a *audit) job(name string) *ledger {
	if a.jobs == nil {
		a.jobs = map[string]*ledger{}
	}
	j := a.jobs[name]
	if j == nil {
		j = &ledger{first: -1, grants: map[int64][]*grant{}, fates: map[int64]fate{}}
		a.jobs[name] = j
	}
	return j
}

// settle notes the fate of a tick: once, and for ever.
func (a *audit) settle(name string, tick, token int64, outcome protocol.Outcome) {
	j := a.job(name)
	if f, ok := j.fates[tick]; ok {
		if f.token != token || f.outcome != outcome {
			a.faultf("%s at %d: settled as %s by %d, and again as %s by %d", name, tick, f.outcome, f.token, outcome, token)
		}
		return
	}
	j.fates[tick] = fate{outcome, token, time.Now()}
}

func (a *audit) Claim(ctx context.Context, c protocol.Claim) (protocol.Answer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !c.NotBefore.IsZero() {
		c.NotBefore = c.NotBefore.Add(-a.skew)
	}
	if !c.NotAfter.IsZero() {
		c.NotAfter = c.NotAfter.Add(-a.skew)
	}
	if !c.Until.IsZero() {
		c.Until = c.Until.Add(-a.skew)
	}
	if !c.TakeoverUntil.IsZero() {
		c.TakeoverUntil = c.TakeoverUntil.Add(-a.skew)
	}
	a.both(func(s *memlease.Store) { _, _ = s.Claim(ctx, c) })
	answer, err := a.Store.Claim(ctx, c)
	answer.Now = answer.Now.Add(a.skew)
	if err != nil {
		return answer, err
	}
	j := a.job(c.Name)
	switch answer.Status {
	case protocol.Granted:
		a.granted(j, c, answer)
	case protocol.Skipped, protocol.Paused:
		a.settle(c.Name, c.Tick, 0, protocol.OutcomeSkipped)
	case protocol.Lost:
		a.settle(c.Name, c.Tick, answer.Token, protocol.OutcomeLost)
	}
	for _, t := range answer.Settled {
		if grants := j.grants[t.Tick]; len(grants) > 0 && t.Token != grants[len(grants)-1].token {
			a.faultf("%s at %d: settled on the way with token %d", c.Name, t.Tick, t.Token)
		}
		a.settle(c.Name, t.Tick, t.Token, t.Outcome)
	}
	return answer, err
}

func (a *audit) granted(j *ledger, c protocol.Claim, answer protocol.Answer) {
	now, before := time.Now(), j.grants[c.Tick]
	if len(before) > 0 && before[len(before)-1].token == answer.Token {
		before[len(before)-1].renewed = now // asked again
		return
	}
	if answer.Token <= j.token || answer.Token >= 1<<53 {
		a.faultf("%s at %d: token %d after %d", c.Name, c.Tick, answer.Token, j.token)
	}
	j.token = answer.Token
	if outcome := j.fate(c.Tick); outcome != "" && c.Tick != 0 {
		a.faultf("%s at %d: granted though settled as %s", c.Name, c.Tick, outcome)
	}
	if now.Add(a.ahead).UnixMilli() < c.Tick {
		a.faultf("%s at %d: granted early", c.Name, c.Tick)
	}
	attempt := 0
	if n := len(before); c.Repeated && n > 0 && before[n-1].request == c.Request { // nobody has used that grant
		attempt, before = before[n-1].attempt-1, before[:n-1]
	} else if len(before) == 0 {
		j.order = append(j.order, c.Tick)
	} else if last := before[len(before)-1]; last.ended.IsZero() && now.Before(last.renewed.Add(c.TTL)) {
		a.faultf("%s at %d: granted while %s held it", c.Name, c.Tick, last.holder)
	} else {
		attempt = last.attempt
	}
	if answer.Attempt != attempt+1 && c.Tick != 0 {
		a.faultf("%s at %d: attempt %d after %d", c.Name, c.Tick, answer.Attempt, attempt)
	}
	j.grants[c.Tick] = append(before, &grant{token: answer.Token, attempt: answer.Attempt, holder: c.Holder, request: c.Request, at: now, renewed: now})
}

func (a *audit) find(g protocol.Grant) *grant {
	for _, o := range a.job(g.Name).grants[g.Tick] {
		if o.token == g.Token {
			return o
		}
	}
	a.faultf("%s at %d: token %d was never granted", g.Name, g.Tick, g.Token)
	return &grant{}
}

func (a *audit) Renew(ctx context.Context, grants []protocol.Grant) []error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.both(func(s *memlease.Store) { _ = s.Renew(ctx, grants) })
	answers := a.Store.Renew(ctx, grants)
	for i, g := range grants {
		if answers[i] == nil {
			o := a.find(g)
			o.renewed, o.attempt = time.Now(), max(o.attempt, g.Attempt)
		}
	}
	return answers
}

func (a *audit) Settle(ctx context.Context, g protocol.Grant, outcome protocol.Outcome) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.both(func(s *memlease.Store) { _ = s.Settle(ctx, g, outcome) })
	err := a.Store.Settle(ctx, g, outcome)
	if err == nil {
		a.find(g).ended = time.Now()
		a.settle(g.Name, g.Tick, g.Token, outcome)
	}
	return err
}

func (a *audit) Release(ctx context.Context, g protocol.Grant) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.both(func(s *memlease.Store) { _ = s.Release(ctx, g) })
	err := a.Store.Release(ctx, g)
	if err == nil {
		o := a.find(g)
		o.ended, o.attempt = time.Now(), max(o.attempt, g.Attempt)
	}
	return err
}

func (a *audit) Skip(ctx context.Context, p protocol.Skip) (int64, bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !p.Until.IsZero() {
		p.Until = p.Until.Add(-a.skew)
	}
	a.both(func(s *memlease.Store) { _, _, _ = s.Skip(ctx, p) })
	watermark, moved, err := a.Store.Skip(ctx, p)
	if j := a.job(p.Name); moved && err == nil && (len(j.passes) == 0 || j.passes[len(j.passes)-1].to < p.To) {
		j.passes = append(j.passes, passed{p.From, p.To, p.Outcome, a.now()})
	}
	return watermark, moved, err
}

func (a *audit) Sync(ctx context.Context, syncs []protocol.Sync) ([]protocol.Record, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	syncs = slices.Clone(syncs)
	for i := range syncs {
		if !syncs[i].Until.IsZero() {
			syncs[i].Until = syncs[i].Until.Add(-a.skew)
		}
	}
	a.both(func(s *memlease.Store) { _, _ = s.Sync(ctx, syncs) })
	records, err := a.Store.Sync(ctx, syncs)
	for _, r := range records {
		if j := a.job(r.Name); r.Made && j.first < 0 {
			j.first, j.made = r.Watermark, a.now()
		} else if r.Made {
			j.passes = append(j.passes, passed{j.first, r.Watermark, forgotten, a.now()})
		}
	}
	return records, err
}

func (a *audit) Time(ctx context.Context) (now, since time.Time, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.both(func(s *memlease.Store) { _, _, _ = s.Time(ctx) })
	now, since, err = a.Store.Time(ctx)
	return now.Add(a.skew), since, err
}

// setClock makes the store's clock run so far behind from now on.
func (a *audit) setClock(behind time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.skew = -behind
}

// step moves the store's clock, with all that is kept by it.
func (a *audit) step(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ahead += d
	a.most = max(a.most, a.ahead)
	a.Store.Step(d)
}

// fate returns what became of a tick; empty when nothing has yet.
func (j *ledger) fate(tick int64) protocol.Outcome {
	if f, ok := j.fates[tick]; ok {
		return f.outcome
	}
	if len(j.grants[tick]) > 0 || tick%1000 != 0 { // a triggered tick is never skipped
		return ""
	}
	for _, p := range j.passes {
		if p.from < tick && tick <= p.to {
			return p.outcome
		}
	}
	return ""
}
