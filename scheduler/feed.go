package scheduler

import (
	"github.com/solotick/solotick/scheduler/internal/reports"

	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/sleep"
)

// feed sends what this replica learns from records to the other replicas, so that they need not
// read them. If a report is lost, they read the record.
type feed struct {
	mu      sync.Mutex
	pending map[reported]letter
	common  bool          // the store reaches all or nobody
	wake    chan struct{} // of size 1
	hurry   chan struct{} // of size 1: somebody waits for what is pending
}

// letter is a report, and to whom it is sent: nil for all.
type letter struct {
	reports.Report
	to []string
}

// reported is what one report of a batch is about.
type reported struct {
	job  string
	tick int64
}

const (
	// batchTime is how long reports are collected before they are sent.
	batchTime = 50 * time.Millisecond
	// betweenBatches is the time between two batches. It is shorter than backupDelay by the time
	// that a message may take. So while a replica works off a backlog, each batch arrives before
	// the first backup stops waiting for it.
	betweenBatches = 150 * time.Millisecond
	// hurriedTime is how long reports are collected if others wait for them.
	hurriedTime = 5 * time.Millisecond
	// maxPending is how many reports wait to be sent; more are dropped.
	maxPending = 1 << 16
	// leavingTimeout bounds how long a replica that stops takes to say so.
	leavingTimeout = 200 * time.Millisecond
)

func newFeed() *feed {
	return &feed{pending: map[reported]letter{}, wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1)}
}

// add queues a report. A later report about the same tick replaces it.
func (f *feed) add(r letter) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := reported{r.Job, r.Tick}
	before, ok := f.pending[key]
	if !ok && len(f.pending) >= maxPending {
		return
	}
	r.Watermark = r.Watermark || before.Watermark
	f.pending[key] = r
	f.wakeUp()
	if r.Kind == reports.Full {
		select {
		case f.hurry <- struct{}{}:
		default:
		}
	}
}

// wakeUp has the pending reports sent after batchTime.
func (f *feed) wakeUp() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

func (f *feed) wakeAfter(d time.Duration) { time.AfterFunc(d, f.wakeUp) }

// take removes what is pending: what all are to hear, and what single ones are to hear.
func (f *feed) take() (all []reports.Report, single map[string][]reports.Report) {
	f.mu.Lock()
	defer f.mu.Unlock()
	single = make(map[string][]reports.Report)
	for _, r := range f.pending {
		if r.to == nil || f.common {
			all = append(all, r.Report)
			continue
		}
		for _, id := range r.to {
			single[id] = append(single[id], r.Report)
		}
	}
	clear(f.pending)
	return all, single
}

// tellAll has all reports sent to all from now on.
func (f *feed) tellAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.common = true
}

// report sends what this replica has learned to others, a moment later: to all if to is nil.
func (s *Scheduler) report(r reports.Report, to []string) {
	if !s.peers.Alone() {
		s.feed.add(letter{r, to})
	}
}

// sendReports sends reports until ctx ends.
func (s *Scheduler) sendReports(ctx context.Context) {
	for last := (time.Time{}); ; last = time.Now() {
		select {
		case <-ctx.Done():
			return
		case <-s.feed.wake:
		}
		s.feed.collect(ctx, max(batchTime, betweenBatches-time.Since(last)))
		limited, cancel := s.call()
		s.syncer.sendQuestions(limited)
		all, single := s.feed.take()
		s.send(limited, all)
		s.tell(limited, single)
		cancel()
	}
}

// collect waits for more reports.
func (f *feed) collect(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	case <-f.hurry:
		sleep.For(ctx, hurriedTime)
	}
}

func (s *Scheduler) messages(list []reports.Report) [][]byte {
	return reports.Message{Since: s.remembersSince().UnixMicro(), Replica: s.replica, Instance: s.epoch, Reports: list}.Encode()
}

// tell sends reports to single replicas, or to all if the store cannot.
func (s *Scheduler) tell(ctx context.Context, single map[string][]reports.Report) {
	if len(single) == 0 {
		return
	}
	var letters []protocol.Letter
	distinct := map[reported]reports.Report{}
	for id, list := range single {
		for _, message := range s.messages(list) {
			letters = append(letters, protocol.Letter{To: id, Message: message})
		}
		for _, r := range list {
			distinct[reported{r.Job, r.Tick}] = r
		}
	}
	if sent, err := s.store.PublishTo(ctx, letters); sent || err != nil {
		return // those that do not hear it look for themselves
	}
	s.feed.tellAll()
	s.send(ctx, slices.Collect(maps.Values(distinct)))
}

// send sends reports to all.
func (s *Scheduler) send(ctx context.Context, list []reports.Report) {
	for _, message := range s.messages(list) {
		if s.store.Publish(ctx, message) != nil {
			return // others look for themselves
		}
	}
}

// sendLeaving tells the others at once that this replica claims nothing more, so that they do not
// wait for it.
func (s *Scheduler) sendLeaving() {
	ctx, cancel := context.WithTimeout(context.Background(), leavingTimeout)
	defer cancel()
	s.send(ctx, []reports.Report{{Kind: reports.Leaving, Job: s.replica}})
}

// receiveReports handles the messages of other replicas, until ctx ends.
func (s *Scheduler) receiveReports(ctx context.Context) {
	resubscribe(ctx, func(ctx context.Context) {
		_ = s.store.Subscribe(ctx, s.received, s.replica) // an error shows in the other calls, if it matters
	})
}

// received handles a message of another replica.
func (s *Scheduler) received(message []byte) {
	p, ok := reports.Decode(message)
	if !ok || p.Instance == s.epoch {
		return
	}
	set, now := s.jobs.Load(), s.clock.Ms()
	counts := p.Since == s.remembersSince().UnixMicro() && !s.trust.Holds()
	s.peers.Work.See(p.Replica, p.Reports, now)
	var questions []reports.Report
	for _, r := range p.Reports {
		switch c := set.byName[r.Job]; {
		case r.Kind == reports.Leaving:
			if s.peers.Leave(p.Replica, p.Instance) {
				s.reranked()
			}
		case !counts:
		case r.Kind == reports.Behind:
			questions = append(questions, r)
		case r.Kind == reports.Answered:
			s.syncer.memberAnswered(reports.InquiryID{Asker: r.Job, Number: r.Tick}, p.Replica)
		case c != nil:
			c.learn(r, p.Replica, now)
		}
	}
	s.syncer.questioned(p.Replica, p.Instance, questions)
}

// reranked plans every job again, because the order has changed.
func (s *Scheduler) reranked() {
	s.jobs.Load().each(func(c *contender) { c.rescheduleLocked() })
}
