package engine

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/record"
	"github.com/solotick/solotick/internal/sleep"
	"github.com/solotick/solotick/lease/driver"
)

const (
	// crowd is how many conflicts mean that others change a value all the time.
	crowd = 2
	// longestPause bounds the pause before another try after conflicts.
	longestPause = 500 * time.Millisecond
	// stepped is the least difference between the store's time and the estimate that may mean a
	// step of the store's clock.
	stepped = 5 * time.Second
	// soon is how far ahead a time may be for a rule to be tried as if it had come, because the
	// store knows its time better.
	soon = 250 * time.Millisecond
)

// work is a rule for the value of one key, and how far it was applied.
type work struct {
	key   string
	state record.State
	// rule decides about the state and returns what to publish if the state is changed. It may be
	// called more than once; the last call counts for the answer of the caller.
	rule func(at *record.Moment) []driver.Notification
	// made corrects what the rule assumed before the store was asked: the token and the time. It
	// may be nil.
	made func(guessed, token int64, now time.Time)

	due       time.Time // a time that the rule asks for, zero when it asks for none
	essential bool
	claims    bool // what the rule wants changed decides a claim
	removes   bool // the rule wants the value removed
	over      bool // it is removed because the record is over
	affirms   bool // the rule says that an earlier request has changed the value: see decide

	before  leaseIndex
	ends    func(token int64) time.Time // of before; nil before it is needed
	leases  []record.Lease              // of the state
	at      record.Moment
	value   driver.Value
	spare   *record.Record // where the state was kept, empty now
	known   *driver.Value  // the key's value seen before the truth, which may lack a part of it
	behind  bool           // the truth is older than known: the store went back, and the state is the known one
	truth   bool           // the value is the present one at now
	now     time.Time
	change  *driver.Change // the decision
	guessed int64          // the token in it that stands for the stamp

	conflicts int  // with changes of others
	crowded   bool // others change the value all the time: pause, and read it again

	err  error
	done bool
}

// apply applies rules to different keys, with one call of the store for all of them, and returns
// when all are answered.
func (s *Session) apply(ctx context.Context, list ...*work) {
	var first [1]string // most often there is one
	keys := first[:0]
	for _, w := range list {
		keys = append(keys, w.key)
	}
	if err := s.queue.Take(ctx, keys...); err != nil {
		for _, w := range list {
			w.fail(err)
		}
		return
	}
	defer s.queue.Give(keys...)
	var firstAsked [1]*work
	ops, asked := make([]driver.Op, 0, len(list)), firstAsked[:0]
	for {
		ops, asked = ops[:0], asked[:0]
		conflicts := 0
		for _, w := range list {
			if !w.done && w.crowded {
				conflicts = max(conflicts, w.conflicts)
			}
		}
		s.pause(ctx, conflicts)
		for _, w := range list {
			if w.done {
				continue
			}
			if op, ask := s.next(w); ask {
				ops, asked = append(ops, op), append(asked, w)
			}
		}
		if len(ops) == 0 {
			return
		}
		if err := context.Cause(ctx); err != nil {
			for _, w := range asked {
				w.fail(err)
			}
			return
		}
		sent := time.Now()
		results := s.medium().Do(ctx, ops)
		s.took.Store(int64(time.Since(sent)))
		for i, res := range results {
			s.take(asked[i], res)
		}
	}
}

// roundTrip returns how long the last call of the store took.
func (s *Session) roundTrip() time.Duration { return time.Duration(s.took.Load()) }

// pause waits before another try at a value that others change all the time. The pause grows with
// the conflicts and with the round trip, so that a busy store is asked less often.
func (s *Session) pause(ctx context.Context, conflicts int) {
	if took := s.roundTrip(); conflicts >= crowd {
		sleep.For(ctx, sleep.Scatter(conflicts-crowd, took, min(16*took, longestPause)))
	}
}

func (w *work) fail(err error) {
	if !w.done {
		w.err, w.done = err, true
	}
}

// next takes the next step with what is known, and returns the request to the store if it needs
// one.
func (s *Session) next(w *work) (op driver.Op, ask bool) {
	if w.crowded { // others have changed it during the pause
		w.crowded = false
		return driver.Op{Key: w.key}, true
	}
	if !w.truth {
		value, known := s.known.get(w.key)
		if known {
			w.value, w.now = value, s.clock.reckon()
		}
		if !known || w.now.IsZero() {
			return driver.Op{Key: w.key}, true
		}
	}
	change, err := s.decide(w)
	switch {
	case err != nil && !w.truth: // the value may be another one by now
		s.known.drop(w.key)
		return driver.Op{Key: w.key}, true
	case err != nil:
		w.fail(err)
		return op, false
	case change != nil:
		w.change = change
		return driver.Op{Key: w.key, Change: change}, true
	case w.truth:
		if w.known != nil && w.known.Version.Stamp < w.value.Version.Stamp { // it lacks nothing of what was known
			s.known.set(w.key, w.value)
		}
		w.done = true
		return op, false
	default:
		return driver.Op{Key: w.key}, true
	}
}

// decide applies the rule and returns the change that it wants, or nil for none.
//
// If the rule affirms a change that an earlier request has made, the value is written once more:
// the replicas of the store may not have a change whose writer never got an answer.
func (s *Session) decide(w *work) (*driver.Change, error) {
	now := w.now
	if ahead := w.due.Sub(now); !w.truth && ahead > 0 && ahead < soon {
		now = w.due
	}
	before := &w.before
	before.index(w.value.Leases)
	if w.ends == nil {
		w.ends = before.ends
	}
	if err := s.decode(w, w.ends); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", protocol.ErrRecord, w.key, err)
	}
	if err := w.restore(); err != nil {
		return nil, err
	}
	unchanged := w.value.Data
	if unchanged == nil {
		unchanged = w.state.Encode(0)
	}
	at := &w.at
	*at = *record.At(now)
	notify := w.rule(at)
	guessed, least := at.Granted()
	w.guessed = guessed

	c := newChange()
	c.From, c.MinStamp, c.Ended, c.Notify = w.value.Version, least, at.Ended(), notify
	c.Essential, c.Claims, c.Keep = w.essential, w.claims, w.state.Keep()
	if w.known != nil { // tokens rise also when the store went back, or lost the value, and its clock is behind
		c.MinStamp = max(c.MinStamp, w.known.Version.Stamp+1)
	}
	c.NotBefore, c.NotAfter = at.Bounds()
	longest := stepped
	w.leases = w.state.AppendLeases(w.leases[:0])
	for _, l := range w.leases {
		was, known := before.take(l.Token)
		begins := !known || !was.Ends.Equal(l.Ends)
		fresh := driver.NewLease{Token: l.Token, Holder: l.Holder, TTL: l.Ends.Sub(now)}
		if begins && fresh.TTL <= 0 {
			continue // brought back, and over: it is as good as absent
		}
		if l.Stopped && (begins || !was.Stopped) {
			c.Stop = append(c.Stop, l.Token)
		}
		if !begins {
			continue
		}
		if l.Token == guessed && guessed != 0 {
			fresh.Token = 0
		}
		c.Leases = append(c.Leases, fresh)
		longest = max(longest, fresh.TTL)
	}
	c.Drop = before.rest(c.Drop)
	r, _ := w.state.(*record.Record)
	w.over = r != nil && r.IsOver()
	removes := w.removes || w.over
	if guessed == 0 && !removes && len(c.Leases)+len(c.Stop)+len(c.Drop) == 0 &&
		bytes.Equal(w.state.Encode(w.value.Version.Stamp), unchanged) {
		if !w.affirms || w.value.Version == (driver.Version{}) {
			s.keep(w, w.value, 0)
			return nil, nil
		}
		c.Essential, c.Claims = true, false
	}
	if c.Data = w.state.Encode(guessed); removes {
		c.Data, c.Keep = nil, 0
	}
	if r != nil {
		c.Due = r.Look()
		for _, settled := range r.News() {
			c.Append = append(c.Append, s.entry(settled, r.Policy.Kept()))
		}
	}
	c.ID = s.nextID()
	if earliest := now.Add(-longest); earliest.After(c.NotBefore) {
		c.NotBefore = earliest
	}
	if latest := now.Add(longest); c.NotAfter.IsZero() || latest.Before(c.NotAfter) {
		c.NotAfter = latest
	}
	return c, nil
}

// newChange returns an empty change with room for what most changes have, in one allocation.
func newChange() *driver.Change {
	c := &struct {
		driver.Change
		leases  [1]driver.NewLease
		drop    [1]int64
		entries [1]driver.Entry
	}{}
	c.Leases, c.Drop, c.Append = c.leases[:0], c.drop[:0], c.entries[:0]
	return &c.Change
}

// restore brings back changes that a store has lost because it went back to a snapshot. The known
// record is newer, or has a tick as settled that is open in the record.
func (w *work) restore() error {
	w.behind = false
	if l, ok := w.state.(*record.Limit); ok && w.known != nil && w.known.Version.Stamp > w.value.Version.Stamp {
		known := new(record.Limit)
		if err := known.Decode(name(w.key), w.known.Data, w.known.Version.Stamp, nil); err != nil {
			return fmt.Errorf("%w: %s: %w", protocol.ErrRecord, w.key, err)
		}
		l.Restore(known)
		return nil
	}
	r, ok := w.state.(*record.Record)
	if !ok || w.known == nil || w.value.Version == (driver.Version{}) {
		return nil
	}
	ends := make(map[int64]time.Time)
	for _, l := range w.known.Leases {
		ends[l.Token] = l.Ends
	}
	for _, l := range w.value.Leases {
		ends[l.Token] = l.Ends
	}
	known := new(record.Record)
	err := known.Decode(name(w.key), w.known.Data, w.known.Version.Stamp, func(token int64) time.Time { return ends[token] })
	if err != nil {
		return fmt.Errorf("%w: %s: %w", protocol.ErrRecord, w.key, err)
	}
	w.behind = w.known.Version.Stamp > w.value.Version.Stamp
	r.Restore(known, w.behind, w.now)
	return nil
}

// take applies the store's result.
func (s *Session) take(w *work, res driver.Result) {
	c := w.change
	w.change = nil
	if res.Err != nil || res.Status == driver.Refused {
		err := res.Err
		if err == nil {
			err = &RefusedError{Remaining: res.Wait}
		}
		w.fail(err)
		return
	}
	s.clock.set(res.Now)
	if res.Status == driver.Done && c != nil {
		value := changed(w.value, c, res)
		s.known.set(w.key, value)
		s.keep(w, value, w.guessed)
		if w.made != nil {
			w.made(w.guessed, res.Version.Stamp, res.Now)
		}
		w.done = true
		return
	}
	if known, ok := s.known.get(w.key); ok && known.Version != res.Value.Version && known.Version != (driver.Version{}) {
		w.known = &known
	}
	if w.known == nil {
		s.known.set(w.key, res.Value)
	}
	w.value, w.now, w.truth = res.Value, res.Now, true
	if res.Status == driver.Conflict {
		w.conflicts++
		w.crowded = w.conflicts >= crowd
	}
}

// changed returns the value that c has made of from.
func changed(from driver.Value, c *driver.Change, res driver.Result) driver.Value {
	if c.Data == nil {
		return driver.Value{}
	}
	v := driver.Value{Version: res.Version, Data: c.Data}
	for _, l := range from.Leases {
		if slices.Contains(c.Drop, l.Token) || slices.ContainsFunc(c.Leases, func(n driver.NewLease) bool { return n.Token == l.Token }) {
			continue
		}
		l.Stopped = l.Stopped || slices.Contains(c.Stop, l.Token)
		v.Leases = append(v.Leases, l)
	}
	for _, n := range c.Leases {
		token := cmp.Or(n.Token, res.Version.Stamp)
		v.Leases = append(v.Leases, driver.Lease{
			Token: token, Holder: n.Holder, Ends: res.Now.Add(n.TTL), Stopped: slices.Contains(c.Stop, token),
		})
	}
	return v
}

// entry returns the history entry of a settled tick.
func (s *Session) entry(settled protocol.Settled, kept int) driver.Entry {
	id := strconv.AppendInt(make([]byte, 0, 64), settled.Tick, 36)
	id = strconv.AppendInt(append(id, '.'), settled.Token, 36)
	id = strconv.AppendInt(append(id, '.'), settled.From, 36)
	id = append(append(id, '.'), settled.Outcome...)
	return driver.Entry{ID: string(id), Text: record.EncodeSettled(settled), Max: kept}
}

const (
	lockPrefix    = "lock:"
	journalPrefix = "journal:"
)

// name returns the name in a key.
func name(key string) string { return key[strings.IndexByte(key, ':')+1:] }

// RefusedError reports that a store grants nothing for a while.
type RefusedError struct {
	Remaining time.Duration
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("lease: the store grants nothing for another %s", e.Remaining)
}
