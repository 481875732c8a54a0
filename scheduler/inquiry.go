package scheduler

import (
	"sync"
	"time"

	"github.com/solotick/solotick/internal/wire"
)

// inquiries are the questions that replicas ask one another about jobs whose records have lost
// something: what does anybody know of them? Each live member writes back what it knows, and says
// so. Until all have, or the time for it is over, nobody that a question has reached claims a tick
// of these jobs.
type inquiries struct {
	self string        // the instance
	time time.Duration // how long one lasts at most

	mu     sync.Mutex
	number int64 // of the own one that was made last
	next   []report
	all    map[inquiryID]*inquiry
	mine   []inquiryID // those that this replica has yet to answer
}

// inquiryID distinguishes one inquiry from another.
type inquiryID struct {
	asker  string // the instance
	number int64
}

// inquiry is one of them, known until its time is over.
type inquiry struct {
	ends    time.Time
	jobs    []*contender    // those of this replica
	missing map[string]bool // the members that have not answered; nil before it is sent
	reports []report        // of an own one: the question
	sent    time.Time       // of an own one: for the last time
}

const (
	// inquiryJobs is how many jobs one is about at most: it fits into one message.
	inquiryJobs = 256
	// askAgain is when a question is sent again that not all have answered: messages get lost.
	askAgain = 200 * time.Millisecond
	// minInquiry is how long one lasts at least: those that lost their connections to the store
	// have new ones by then.
	minInquiry = 2 * time.Second
)

// inquiryTime is how long an inquiry lasts at most, with leases of that TTL: one heartbeat.
func inquiryTime(ttl time.Duration) time.Duration {
	return max(wire.HeartbeatInterval(ttl), minInquiry)
}

func newInquiries(self string, ttl time.Duration) *inquiries {
	return &inquiries{self: self, time: inquiryTime(ttl), all: map[inquiryID]*inquiry{}}
}

// add puts a job into the own inquiry that is sent next. The report says which watermark is known.
func (q *inquiries) add(job string, watermark int64) inquiryID {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.next) == 0 || len(q.next) == inquiryJobs {
		q.number, q.next = q.number+1, nil
	}
	id := inquiryID{q.self, q.number}
	q.next = append(q.next, report{kind: progressBehind, job: job, tick: watermark, until: q.number})
	if q.all[id] == nil {
		q.all[id] = &inquiry{ends: time.Now().Add(q.time)}
	}
	q.all[id].reports = q.next
	return id
}

// question is the part of an inquiry that is sent.
type question struct {
	id      inquiryID
	reports []report
	first   bool
}

// take returns the questions that are due, for the first time or again, and whether there may be
// more later.
func (q *inquiries) take() (due []question, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.next = nil
	q.pruneLocked()
	for id, in := range q.all {
		if id.asker != q.self || in.missing != nil && len(in.missing) == 0 {
			continue
		}
		more = true
		if time.Since(in.sent) >= askAgain {
			due = append(due, question{id, in.reports, in.sent.IsZero()})
			in.sent = time.Now()
		}
	}
	return due, more
}

// open takes in that a question has reached this replica, or is about to be sent by it. Members are
// to answer it, and this replica, too.
func (q *inquiries) open(id inquiryID, jobs []*contender, members []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pruneLocked()
	q.mine = append(q.mine, id) // if it is known, the answer may have got lost
	in := q.all[id]
	if in == nil {
		in = &inquiry{ends: time.Now().Add(q.time)}
		q.all[id] = in
	}
	if in.missing != nil {
		return
	}
	in.jobs, in.missing = jobs, make(map[string]bool, len(members))
	for _, m := range members {
		in.missing[m] = true
	}
}

func (q *inquiries) pruneLocked() {
	for id, in := range q.all {
		if time.Until(in.ends) <= 0 {
			delete(q.all, id)
		}
	}
}

// answered takes in that a member has written back what it knows. It returns the jobs which need
// not wait any longer.
func (q *inquiries) answered(id inquiryID, member string) (over []*contender) {
	q.mu.Lock()
	defer q.mu.Unlock()
	in := q.all[id]
	if in == nil || !in.missing[member] {
		return nil
	}
	if delete(in.missing, member); len(in.missing) > 0 {
		return nil
	}
	return in.jobs
}

// takeMine returns the inquiries that this replica has yet to answer, with their jobs.
func (q *inquiries) takeMine() map[inquiryID][]*contender {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := make(map[inquiryID][]*contender, len(q.mine))
	for _, id := range q.mine {
		if in := q.all[id]; in != nil {
			list[id] = in.jobs
		}
	}
	q.mine = nil
	return list
}
