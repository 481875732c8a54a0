package scheduler

import (
	"github.com/solotick/solotick/scheduler/internal/reports"

	"context"
	"maps"
	"slices"
	"time"

	"github.com/solotick/solotick/lease"
)

// inquire asks the live members what they know of a job, of which the record has that watermark.
func (s *Scheduler) inquire(job string, watermark int64) reports.InquiryID {
	id := s.inquiries.Add(job, watermark)
	s.feed.wakeUp()
	return id
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
				c.mu.Lock()
				running = slices.AppendSeq(running, maps.Values(c.Running))
				c.mu.Unlock()
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
