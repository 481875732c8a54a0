package scheduler

import (
	"github.com/solotick/solotick/scheduler/internal/clock"
	"github.com/solotick/solotick/scheduler/internal/storehealth"

	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/sleep"
	"github.com/solotick/solotick/internal/steady"
	"github.com/solotick/solotick/jobs"
)

// storeChanged handles that the store stopped working, or works again.
func (s *Scheduler) storeChanged(e storehealth.Change) {
	if e.WritesOnly {
		s.wantAnnounce() // heartbeats show when it takes writes again
	}
	s.news.publish()
	s.observe(StoreChanged(e))
}

// answered records the result of a call of the store.
func (s *Scheduler) answered(kind storehealth.CallKind, took time.Duration, err error) {
	if errors.Is(err, protocol.ErrRecord) { // the store has answered, though not to this
		s.unreadable(err)
		kind, err = storehealth.Reads, nil
	}
	if err == nil {
		now := steady.Now()
		s.contact.Answered(now.Add(-took), now)
	}
	if s.health.Report(kind, took, err) {
		s.wantAnnounce()
		s.renewer.Check() // and what could not be settled
		for _, c := range s.jobs.Load().contenders {
			c.recovered() // those that failed meanwhile wait for this
		}
	}
}

// unreadable reports which record cannot be read, at most once a minute.
func (s *Scheduler) unreadable(err error) {
	const again = time.Minute
	s.mu.Lock()
	if s.unread == nil {
		s.unread = map[string]time.Time{}
	}
	text, now := err.Error(), time.Now()
	said, known := s.unread[text]
	if known = known && now.Sub(said) < again; !known {
		s.unread[text] = now
	}
	s.mu.Unlock()
	if !known {
		s.observe(RecordUnreadable{Err: err})
	}
}

const (
	beatEvery  = time.Second             // between two looks at the store's clock, of a replica that holds leases
	idleEvery  = 1750 * time.Millisecond // of one that holds none. Messages are asked for with the time: see Watch of a store
	heldEvery  = 250 * time.Millisecond  // while that clock is not trusted, or writes fail
	probeEvery = 100 * time.Millisecond  // while the store does not answer
)

// beat keeps fleet time exact, and notices when the store answers again or has lost its records.
func (s *Scheduler) beat(ctx context.Context) {
	for after := time.Duration(0); ctx.Err() == nil; {
		wait := s.lookIn(after)
		switch {
		case wait > 0:
		case s.look():
			wait = s.lookIn(after)
		default:
			wait = probeEvery
		}
		t := time.NewTimer(min(wait, beatEvery/2)) // it may come to hold leases meanwhile
		select {
		case <-ctx.Done():
		case <-t.C:
		case <-s.looks:
			after = s.clock.Local(time.Now()) + 1
			sleep.For(ctx, lateRetry) // many claims may ask for the same look
		case <-s.health.Trouble:
			after = s.clock.Local(time.Now()) + 1
			sleep.For(ctx, probeEvery/2)
		}
		t.Stop()
	}
}

// lookIn returns how long the next look at the store's clock can wait. It is 0 or less if the last
// look was not later than after, a reading of clock.Local. Heartbeats count as looks.
func (s *Scheduler) lookIn(after time.Duration) time.Duration {
	every, last := idleEvery, time.Duration(s.lookedAt.Load())
	switch {
	case last <= after:
		return 0
	case s.trust.Holds(), s.health.IsProbed():
		every = heldEvery
	case s.renewer.Held() > 0: // it writes that back when the store has lost it, and others wait no longer than heardOf
		every = beatEvery
	}
	return last + min(every, s.contactEvery()) - s.clock.Local(time.Now())
}

// look asks the store for its time, and reports whether it answered.
func (s *Scheduler) look() bool {
	ctx, cancel := s.call()
	defer cancel()
	sent := time.Now()
	now, since, err := s.store.Time(ctx)
	if err == nil {
		s.sawTime(sent, time.Now(), now, since)
	}
	s.answered(storehealth.Reads, time.Since(sent), err)
	return err == nil
}

// sawTime handles the store's time, and how far back the store remembers.
func (s *Scheduler) sawTime(sent, received, now, since time.Time) {
	s.lookedAt.Store(int64(s.clock.Local(received)) + 1)
	s.looked(sent, received, now)
	s.remembers(since)
}

// remembers handles how far back the store remembers. If that has changed, the records are gone.
func (s *Scheduler) remembers(since time.Time) {
	s.mu.Lock()
	before := s.since
	s.since = since
	s.mu.Unlock()
	if since.Equal(before) {
		return
	}
	if !before.IsZero() {
		s.contact.End()
		s.observe(RecordsLost{Since: since})
	}
	for _, c := range s.jobs.Load().contenders {
		c.mu.Lock()
		c.StoreForgot()
		c.mu.Unlock()
	}
	s.wantSync()
	s.renewer.Check() // what this replica runs
}

// reportedWithin is how long after a loss the other replicas have noticed it and written their runs
// back.
const reportedWithin = beatEvery + 500*time.Millisecond

func (s *Scheduler) wantAnnounce() {
	select {
	case s.announces <- struct{}{}:
	default:
	}
}

func (s *Scheduler) wantSync() {
	select {
	case s.syncs <- struct{}{}:
	default:
	}
}

// sync reads the records of jobs, and makes those that are missing, until ctx ends.
func (s *Scheduler) sync(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.syncs:
		}
		mine := s.inquiries.TakeMine()
		for !s.syncAll() {
			if !sleep.For(ctx, probeEvery) {
				return
			}
		}
		s.answer(mine)
	}
}

// syncAll reports whether every job has a record.
func (s *Scheduler) syncAll() bool {
	var list []*contender
	for _, c := range s.jobs.Load().contenders {
		c.mu.Lock()
		if c.Record.NeedsReading() {
			list = append(list, c)
		}
		c.mu.Unlock()
	}
	const atOnce = 512
	for len(list) > 0 {
		part := list[:min(len(list), atOnce)]
		list = list[len(part):]
		if !s.syncSome(part) {
			return false
		}
	}
	s.ready.Store(true)
	return true
}

func (s *Scheduler) syncSome(part []*contender) bool {
	if state := s.trust.State(); state == clock.Doubted || state == clock.Stepped {
		return false // beat looks at the clock until it is trusted
	}
	if !s.look() || s.trust.Holds() { // a store that forgot has to say so before a record is made again
		return false
	}
	s.mu.Lock()
	since := s.since.UnixMilli()
	s.mu.Unlock()
	now := s.clock.Ms()
	syncs := make([]protocol.Sync, len(part))
	defined := make([]*jobs.Job, len(part))
	for i, c := range part {
		c.mu.Lock()
		defined[i] = c.Job
		syncs[i] = c.ReadRequest(now, since, s.until())
		c.mu.Unlock()
	}
	began := time.Now()
	ctx, cancel := s.call()
	records, err := s.store.Sync(ctx, syncs)
	cancel()
	received := time.Now()
	s.bounded(storehealth.Reads, began, err)
	if errors.Is(err, protocol.ErrRecord) {
		return s.syncSingly(part)
	}
	if err != nil {
		return false
	}
	for i, c := range part {
		if !c.read(records[i], since, defined[i]) { // it was defined again meanwhile
			s.wantSync()
			continue
		}
		s.noteEdit(c.Name, defined[i], records[i], began, received)
	}
	s.news.publish()
	return true
}

// syncSingly syncs jobs one by one, because the record of one cannot be read. That one is tried
// again later, and the others do not wait for it.
func (s *Scheduler) syncSingly(part []*contender) bool {
	if len(part) == 1 {
		time.AfterFunc(time.Second, s.wantSync)
		return true
	}
	half := len(part) / 2
	return s.syncSome(part[:half]) && s.syncSome(part[half:])
}

// watch receives the store's notifications about what need not be waited for any longer.
func (s *Scheduler) watch(ctx context.Context) {
	var connected atomic.Bool // notifications come from several goroutines
	resubscribe(ctx, func(ctx context.Context) {
		connected.Store(false)
		_ = s.store.Watch(ctx, func(name string, tick int64) { // an error shows in the other calls, if it matters
			if name == "" {
				connected.Store(true)
				s.contact.Listening(true)
				s.verify() // what happened since a record was read, and before now, was not notified
			}
			s.woken(name, tick)
		})
		if connected.Load() {
			s.contact.Listening(false)
		}
	})
}

// resubscribe calls subscribe again whenever it returns because its connection was lost, until ctx
// ends. The first retries follow quickly.
func resubscribe(ctx context.Context, subscribe func(context.Context)) {
	const longest = time.Second
	for wait := probeEvery; ctx.Err() == nil; wait = min(2*wait, longest) {
		began := time.Now()
		if subscribe(ctx); time.Since(began) > longest {
			wait = probeEvery
		}
		sleep.For(ctx, wait)
	}
}

// verify reads the records of which this replica may know more than the store, which was away and
// may have gone back in time, and those of jobs whose triggers this replica runs first.
func (s *Scheduler) verify() {
	for _, c := range s.jobs.Load().contenders {
		c.mu.Lock()
		if c.Record.IsRead() && !c.gone && c.KnowsBest() {
			c.Confirm(s.clock.Ms())
		}
		c.mu.Unlock()
	}
}

func (s *Scheduler) woken(name string, tick int64) {
	set := s.jobs.Load()
	if name == "" { // earlier changes were not notified
		for _, c := range set.contenders {
			c.woken(0)
		}
		for _, l := range set.leaders {
			l.nudge()
		}
		return
	}
	if c := set.byName[name]; c != nil {
		switch tick {
		case protocol.PauseChanged:
			c.reread()
		case protocol.Cancelling:
			c.cancelled()
		default:
			c.woken(tick)
		}
	}
	if l := set.leading[name]; l != nil {
		l.nudge()
	}
}

// call returns the context of a call of the store that is not on the path of a tick.
func (s *Scheduler) call() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), s.calls.Limit)
}
