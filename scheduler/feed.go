package scheduler

import (
	"github.com/solotick/solotick/scheduler/internal/reports"

	"context"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/heartbeat"
	"github.com/solotick/solotick/internal/sleep"
)

// feed sends what this replica learns from records to the other replicas, so that they need not
// read them. If a report is lost, they read the record.
type feed struct {
	mu      sync.Mutex
	pending map[reported]reports.Report
	wake    chan struct{} // of size 1
	hurry   chan struct{} // of size 1: somebody waits for what is pending
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
	return &feed{pending: map[reported]reports.Report{}, wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1)}
}

// add queues a report. A later report about the same tick replaces it.
func (f *feed) add(r reports.Report) {
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

func (f *feed) take() []reports.Report {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := make([]reports.Report, 0, len(f.pending))
	for _, r := range f.pending {
		list = append(list, r)
	}
	clear(f.pending)
	return list
}

// report sends what this replica has learned to the others, a moment later.
func (s *Scheduler) report(r reports.Report) {
	if !s.peers.Alone() {
		s.feed.add(r)
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
		s.send(limited, s.feed.take())
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

func (s *Scheduler) send(ctx context.Context, list []reports.Report) {
	p := reports.Message{Since: s.remembersSince().UnixMicro(), Replica: s.replica, Instance: s.epoch, Reports: list}
	for _, message := range p.Encode() {
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
		_ = s.store.Subscribe(ctx, s.received) // an error shows in the other calls, if it matters
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
			s.memberLeft(p.Replica, p.Instance)
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

// rank ranks the live replicas. If the order has changed, jobs are claimed at other times.
func (s *Scheduler) rank(replicas []heartbeat.Replica) {
	if s.peers.Read(replicas) {
		s.reranked()
	}
}

// memberLeft handles a replica that claims nothing more.
func (s *Scheduler) memberLeft(replica, instance string) {
	if s.peers.Leave(replica, instance) {
		s.reranked()
	}
}

func (s *Scheduler) reranked() {
	for _, c := range s.jobs.Load().contenders {
		c.reschedule()
	}
}
