package scheduler

import (
	"github.com/solotick/solotick/scheduler/internal/clock"
	"github.com/solotick/solotick/scheduler/internal/reports"
	"github.com/solotick/solotick/scheduler/internal/storehealth"

	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/sleep"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
)

// syncer reads the records of jobs, and asks the other replicas about those that have lost something.
type syncer struct {
	*Scheduler
	wanted    sleep.Signal // someone has no record
	inquiries *reports.Inquiries
}

// reportedWithin is how long after a loss the other replicas have noticed it and written their runs
// back.
const reportedWithin = beatEvery + 500*time.Millisecond

// run reads the records of jobs, and makes those that are missing, until ctx ends.
func (y *syncer) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-y.wanted:
		}
		mine := y.inquiries.TakeMine()
		for !y.all() {
			if !sleep.For(ctx, probeEvery) {
				return
			}
		}
		y.answer(mine)
	}
}

// all reports whether every job has a record.
func (y *syncer) all() bool {
	var list []*contender
	y.jobs.Load().each(func(c *contender) {
		if c.Record.NeedsReading() {
			list = append(list, c)
		}
	})
	const atOnce = 512
	for len(list) > 0 {
		part := list[:min(len(list), atOnce)]
		list = list[len(part):]
		if !y.some(part) {
			return false
		}
	}
	y.ready.Store(true)
	return true
}

func (y *syncer) some(part []*contender) bool {
	if state := y.trust.State(); state == clock.Doubted || state == clock.Stepped {
		return false // beat looks at the clock until it is trusted
	}
	if !y.look() || y.trust.Holds() { // a store that forgot has to say so before a record is made again
		return false
	}
	since := y.remembersSince().UnixMilli()
	now := y.clock.Ms()
	syncs := make([]protocol.Sync, len(part))
	defined := make([]*jobs.Job, len(part))
	for i, c := range part {
		c.mu.Lock()
		defined[i] = c.Job
		syncs[i] = c.ReadRequest(now, since, y.until())
		c.mu.Unlock()
	}
	began := time.Now()
	ctx, cancel := y.call()
	records, err := y.store.Sync(ctx, syncs)
	cancel()
	received := time.Now()
	y.bounded(storehealth.Reads, began, err)
	if errors.Is(err, protocol.ErrRecord) {
		return y.singly(part)
	}
	if err != nil {
		return false
	}
	for i, c := range part {
		if !c.read(records[i], since, defined[i]) { // it was defined again meanwhile
			y.wanted.Set()
			continue
		}
		y.facts.edited(c.Name, defined[i], records[i], y.clock.At(began), y.clock.At(received))
	}
	y.news.publish()
	return true
}

// singly syncs jobs one by one, because the record of one cannot be read. That one is tried
// again later, and the others do not wait for it.
func (y *syncer) singly(part []*contender) bool {
	if len(part) == 1 {
		time.AfterFunc(time.Second, y.wanted.Set)
		return true
	}
	half := len(part) / 2
	return y.some(part[:half]) && y.some(part[half:])
}

// lookAhead reads the records of jobs whose watermark is in the future because of a wrong clock.
// Somebody may have repaired them.
func (y *syncer) lookAhead() {
	found := false
	y.jobs.Load().each(func(c *contender) {
		if c.Record.IsRead() && c.IsAhead(c.Cursor.Watermark, y.clock.Ms()) {
			c.Record.Forget()
			found = true
		}
	})
	if found {
		y.wanted.Set()
	}
}

// inquire asks the live members what they know of a job, of which the record has that watermark.
func (y *syncer) inquire(job string, watermark int64) reports.InquiryID {
	id := y.inquiries.Add(job, watermark)
	y.feed.wakeUp()
	return id
}

// sendQuestions sends the inquiries that are due.
func (y *syncer) sendQuestions(ctx context.Context) {
	questions, more := y.inquiries.Take()
	for _, q := range questions {
		if q.First {
			y.open(q.ID, q.Reports, y.replica)
		}
		y.send(ctx, q.Reports)
	}
	if more {
		y.feed.wakeAfter(reports.AskAgain)
	}
}

// questioned handles a question from another replica.
func (y *syncer) questioned(from, instance string, asked []reports.Report) {
	if len(asked) == 0 {
		return
	}
	id := reports.InquiryID{Asker: instance, Number: asked[0].Until}
	for _, r := range asked {
		if c := y.jobs.Load().byName[r.Job]; c != nil {
			c.questioned(id, r.Tick)
		}
	}
	y.open(id, asked, from)
}

func (y *syncer) open(id reports.InquiryID, asked []reports.Report, from string) {
	list := make([]string, len(asked))
	for i, r := range asked {
		list[i] = r.Job
	}
	y.inquiries.Open(id, list, append(y.peers.Alive(), from, y.replica))
	y.wanted.Set() // and then it is answered
}

// answer tells the others that this replica has written back what it knows.
func (y *syncer) answer(mine map[reports.InquiryID][]string) {
	if len(mine) == 0 {
		return
	}
	byName := y.jobs.Load().byName
	var running []*lease.Lease
	var answers []reports.Report
	for id, list := range mine {
		answers = append(answers, reports.Report{Kind: reports.Answered, Job: id.Asker, Tick: id.Number})
		for _, job := range list {
			if c := byName[job]; c != nil {
				c.mu.Lock()
				running = slices.AppendSeq(running, maps.Values(c.Running))
				c.mu.Unlock()
			}
		}
	}
	limited, cancel := y.call()
	defer cancel()
	renewNow(limited, running)
	y.send(limited, answers)
	for id := range mine {
		y.memberAnswered(id, y.replica)
	}
}

// memberAnswered records that a member has answered an inquiry.
func (y *syncer) memberAnswered(id reports.InquiryID, member string) {
	byName := y.jobs.Load().byName
	for _, job := range y.inquiries.Answered(id, member) {
		if c := byName[job]; c != nil {
			c.resume(id)
		}
	}
}

// renewNow renews leases and waits until they are, so that a record that has lost them has them
// again.
func renewNow(ctx context.Context, leases []*lease.Lease) {
	var renewed []sleep.Signal
	for _, l := range leases {
		done := sleep.NewSignal()
		renewed = append(renewed, done)
		defer l.OnRenewal(func(time.Time) { done.Set() })()
		l.Check()
	}
	for i, l := range leases {
		select {
		case <-renewed[i]:
		case <-l.Context().Done():
		case <-ctx.Done():
			return
		}
	}
}
