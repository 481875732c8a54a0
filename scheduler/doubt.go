package scheduler

import (
	"github.com/solotick/solotick/scheduler/internal/reports"

	"context"
	"slices"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease"
)

// doubt holds a contender's knowledge of a record that has lost something.
type doubt struct {
	inquiries map[reports.InquiryID]int64 // those that the job is in, and until when they last
	settled   [4]int64                    // ticks that others have reported as settled, of late
	own       int64                       // the newest tick that this replica was granted, or settled without a run
	unread    bool                        // some were reported as settled, and the record was not read since
	asked     bool                        // one inquiry is this replica's: the record is read when they are over
	missing   bool                        // a claim found no record, or one older than this replica has seen
	proven    bool                        // the record has lost something: reports count more than the record
}

// inDoubtLocked reports whether nothing may be claimed, since others know more of the job than its
// record, or knew it until a moment ago.
func (c *contender) inDoubtLocked() bool { return c.doubtEndsLocked() != 0 || c.doubt.asked }

// doubtStepLocked returns the next step then: to wait, and in the end to have the record read.
func (c *contender) doubtStepLocked() step {
	if ends := c.doubtEndsLocked(); ends != 0 {
		return step{state: doubting, at: ends}
	}
	return step{state: confirming, at: 1}
}

// doubtEndsLocked is until when the job is in doubt at most; 0 when it is not.
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

// askLocked asks the live members for what they know of the job, unless somebody has. Known here is
// a watermark.
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

// forgottenLocked leaves it to the syncer to make the record again, or to read the part of it that
// was brought back.
func (c *contender) forgottenLocked() {
	c.synced, c.pending = false, nil
	c.doubt.missing = true
	c.s.wantSync()
}

// doubtRecordLocked takes in a record that was read. If it has lost something, though the store
// remembers as long as before, others are asked for what they know.
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

// verifyRecord has the record read if this replica is likely to know better what became of the
// newest tick. It claims the job's ticks first, or next, or decided that one.
func (c *contender) verifyRecord() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.synced && !c.gone && (c.placeLocked().Rank <= 1 || c.doubt.own >= c.hintedWatermarkLocked()) {
		c.confirmLocked()
	}
}

// suspectLocked takes in which ticks the record has open. If one of them was reported as settled,
// either that report was wrong or the store has lost the settlement. The replicas that know better
// are asked, once.
func (c *contender) suspectLocked(open []protocol.Open) {
	for _, o := range open {
		if i := slices.Index(c.doubt.settled[:], o.Tick); o.Tick != 0 && i >= 0 {
			c.doubt.settled[i] = 0
			c.askLocked(o.Tick)
		}
	}
}

// reportSettled notes that others have reported a tick as settled.
func (d *doubt) reportSettled(tick int64) {
	if !slices.Contains(d.settled[:], tick) {
		copy(d.settled[1:], d.settled[:])
		d.settled[0], d.unread = tick, true
	}
}

// questioned handles the question of another replica about the job, of which that replica knows the
// given watermark. If this replica may know more, it writes that back.
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

// resume takes in that all have answered an inquiry.
func (c *contender) resume(id reports.InquiryID) {
	c.mu.Lock()
	delete(c.doubt.inquiries, id)
	c.mu.Unlock()
	c.poke()
}

// leases returns those of the ticks that this replica runs.
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

// questioned takes in a question of another replica.
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

// answer says that this replica has written back what it knows.
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

// memberAnswered takes in that a member has answered an inquiry.
func (s *Scheduler) memberAnswered(id reports.InquiryID, member string) {
	byName := s.jobs.Load().byName
	for _, job := range s.inquiries.Answered(id, member) {
		if c := byName[job]; c != nil {
			c.resume(id)
		}
	}
}

// renewNow renews leases and waits for it: a record that has lost them has them again.
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
