package scheduler

import (
	"github.com/solotick/solotick/scheduler/internal/reports"

	"context"
	"slices"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease"
)

// doubt is what a contender knows of a record that has lost something.
type doubt struct {
	inquiries map[reports.InquiryID]int64 // those that the job is in, and until when they last
	settled   [4]int64                    // ticks that others have reported as settled, of late
	own       int64                       // the newest tick that this replica was granted, or settled without a run
	unread    bool                        // some were reported as settled, and the record was not read since
	asked     bool                        // one inquiry is this replica's: the record is read when they are over
	missing   bool                        // a claim found no record, or one older than this replica has seen
	proven    bool                        // the record has lost something: reports count more than the record
}

// inDoubtLocked reports whether nothing may be claimed, because other replicas know, or knew until
// a moment ago, more of the job than its record.
func (c *contender) inDoubtLocked() bool { return c.doubtEndsLocked() != 0 || c.doubt.asked }

// doubtStepLocked returns the next step while the job is in doubt: to wait, and at the end to have
// the record read.
func (c *contender) doubtStepLocked() step {
	if ends := c.doubtEndsLocked(); ends != 0 {
		return step{state: doubting, at: ends}
	}
	return step{state: confirming, at: 1}
}

// doubtEndsLocked returns when the doubt ends at the latest, or 0 if the job is not in doubt.
func (c *contender) doubtEndsLocked() (ends int64) {
	if len(c.doubt.inquiries) == 0 {
		return 0
	}
	now := c.s.clock.Ms()
	for id, until := range c.doubt.inquiries {
		if until <= now || until > now+ms(c.s.inquiries.Time)+aheadBy { // it is over, or fleet time has stepped back
			delete(c.doubt.inquiries, id)
			continue
		}
		ends = max(ends, until)
	}
	return ends
}

// askLocked asks the live members what they know of the job, unless somebody has asked already.
// watermark is what the record has.
func (c *contender) askLocked(watermark int64) {
	c.doubt.asked = true
	if c.doubtEndsLocked() == 0 {
		c.doubtLocked(c.s.inquiries.Add(c.name, watermark))
		c.s.feed.wakeUp()
	}
}

func (c *contender) doubtLocked(id reports.InquiryID) {
	if c.doubt.inquiries == nil {
		c.doubt.inquiries = map[reports.InquiryID]int64{}
	}
	if _, known := c.doubt.inquiries[id]; !known {
		c.doubt.inquiries[id] = c.s.clock.Ms() + ms(c.s.inquiries.Time)
	}
}

// forgottenLocked leaves it to the syncer to make the record again, or to read what others have
// brought back.
func (c *contender) forgottenLocked() {
	c.synced, c.pending = false, nil
	c.doubt.missing = true
	c.s.wantSync()
}

// doubtRecordLocked checks a record that was read. If it has lost something although the store
// remembers as far back as before, it asks the other replicas.
func (c *contender) doubtRecordLocked(r protocol.Record, remembers bool) {
	lost := remembers && (c.doubt.missing || r.Made || r.Restored)
	c.doubt.missing = false
	switch {
	case lost:
		c.doubt.proven = true
		c.emitLocked(RecordsLost{Job: c.name})
		c.askLocked(c.cursor.Watermark)
	case !c.doubt.asked:
		c.doubt.proven = false
	}
}

// verifyRecord has the record read if this replica probably knows best what became of the newest
// tick: it decided that tick, or claims the job's ticks first or second.
func (c *contender) verifyRecord() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.synced && !c.gone && (c.placeLocked().Rank <= 1 || c.doubt.own >= c.hintedWatermarkLocked()) {
		c.confirmLocked()
	}
}

// suspectLocked looks for open ticks that were reported as settled. Either the report was wrong or
// the store has lost the settlement, so it asks the other replicas, once.
func (c *contender) suspectLocked(open []protocol.Open) {
	for _, o := range open {
		if i := slices.Index(c.doubt.settled[:], o.Tick); o.Tick != 0 && i >= 0 {
			c.doubt.settled[i] = 0
			c.askLocked(o.Tick)
		}
	}
}

// reportSettled remembers that others have reported a tick as settled.
func (d *doubt) reportSettled(tick int64) {
	if !slices.Contains(d.settled[:], tick) {
		copy(d.settled[1:], d.settled[:])
		d.settled[0], d.unread = tick, true
	}
}

// questioned handles a question about the job from a replica that knows this watermark. If this
// replica may know more, it writes that back.
func (c *contender) questioned(id reports.InquiryID, watermark int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return
	}
	c.doubtLocked(id)
	if c.synced && (c.cursor.Watermark > watermark || c.doubt.own >= watermark || len(c.running) > 0) {
		c.confirmLocked()
	}
	c.rescheduleLocked()
}

// resume ends the doubt of an inquiry that all have answered.
func (c *contender) resume(id reports.InquiryID) {
	c.mu.Lock()
	delete(c.doubt.inquiries, id)
	c.mu.Unlock()
	c.poke()
}

// leases returns the leases of the ticks that this replica runs.
func (c *contender) leases() (leases []*lease.Lease) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.running {
		leases = append(leases, l)
	}
	return leases
}

// sendQuestions sends the inquiries that are due.
func (s *Scheduler) sendQuestions(ctx context.Context) {
	questions, more := s.inquiries.Take()
	for _, q := range questions {
		if q.First {
			s.openInquiry(q.ID, q.Reports, s.replica)
		}
		s.send(ctx, q.Reports)
	}
	if more {
		s.feed.wakeAfter(reports.AskAgain)
	}
}

// questioned handles a question from another replica.
func (s *Scheduler) questioned(from, instance string, asked []reports.Report) {
	if len(asked) == 0 {
		return
	}
	id := reports.InquiryID{Asker: instance, Number: asked[0].Until}
	for _, r := range asked {
		if c := s.jobs.Load().byName[r.Job]; c != nil {
			c.questioned(id, r.Tick)
		}
	}
	s.openInquiry(id, asked, from)
}

func (s *Scheduler) openInquiry(id reports.InquiryID, asked []reports.Report, from string) {
	list := make([]string, len(asked))
	for i, r := range asked {
		list[i] = r.Job
	}
	s.inquiries.Open(id, list, append(s.peers.Alive(), from, s.replica))
	s.wantSync() // and then it is answered
}

// answer tells the others that this replica has written back what it knows.
func (s *Scheduler) answer(mine map[reports.InquiryID][]string) {
	if len(mine) == 0 {
		return
	}
	byName := s.jobs.Load().byName
	var running []*lease.Lease
	var answers []reports.Report
	for id, list := range mine {
		answers = append(answers, reports.Report{Kind: reports.Answered, Job: id.Asker, Tick: id.Number})
		for _, job := range list {
			if c := byName[job]; c != nil {
				running = append(running, c.leases()...)
			}
		}
	}
	limited, cancel := s.call()
	defer cancel()
	renewNow(limited, running)
	s.send(limited, answers)
	for id := range mine {
		s.memberAnswered(id, s.replica)
	}
}

// memberAnswered records that a member has answered an inquiry.
func (s *Scheduler) memberAnswered(id reports.InquiryID, member string) {
	byName := s.jobs.Load().byName
	for _, job := range s.inquiries.Answered(id, member) {
		if c := byName[job]; c != nil {
			c.resume(id)
		}
	}
}

// renewNow renews leases and waits until they are, so that a record that has lost them has them
// again.
func renewNow(ctx context.Context, leases []*lease.Lease) {
	var renewed []chan struct{}
	for _, l := range leases {
		done := make(chan struct{}, 1)
		renewed = append(renewed, done)
		defer l.OnRenewal(func(time.Time) {
			select {
			case done <- struct{}{}:
			default:
			}
		})()
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
