package reports

import (
	"sync"
	"time"

	"github.com/solotick/solotick/internal/wire"
)

// Inquiries are questions about jobs whose records have lost something. A question goes to all live
// members. Each writes back what it knows of the jobs, and answers. Until all have answered, or
// time is up, nobody whom the question has reached claims a tick of these jobs.
type Inquiries struct {
	self string        // the instance
	Time time.Duration // how long one lasts at most

	mu     sync.Mutex
	number int64 // of the own one that was made last
	next   []Report
	all    map[InquiryID]*inquiry
	mine   []InquiryID // those that this replica has yet to answer
}

// InquiryID identifies an inquiry.
type InquiryID struct {
	Asker  string // the instance
	Number int64
}

// inquiry is kept until its time is up.
type inquiry struct {
	ends    time.Time
	jobs    []string        // that it is about
	missing map[string]bool // the members that have not answered; nil before it is sent
	reports []Report        // of an own one: the question
	sent    time.Time       // of an own one: for the last time
}

const (
	// inquiryJobs is how many jobs an inquiry is about at most, so that it fits into one message.
	inquiryJobs = 256
	// AskAgain is the time after which a question is repeated that somebody has not answered:
	// messages get lost.
	AskAgain = 200 * time.Millisecond
	// minInquiry is how long an inquiry lasts at least: a member that has lost its connection to
	// the store has a new one by then.
	minInquiry = 2 * time.Second
)

// inquiryTime returns how long an inquiry lasts at most with leases of that TTL: one heartbeat.
func inquiryTime(ttl time.Duration) time.Duration {
	return max(wire.HeartbeatInterval(ttl), minInquiry)
}

// NewInquiries returns the Inquiries of an instance with leases of that TTL.
func NewInquiries(self string, ttl time.Duration) *Inquiries {
	return &Inquiries{self: self, Time: inquiryTime(ttl), all: map[InquiryID]*inquiry{}}
}

// Add adds a job to this replica's next inquiry. watermark is what it knows itself.
func (q *Inquiries) Add(job string, watermark int64) InquiryID {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.next) == 0 || len(q.next) == inquiryJobs {
		q.number, q.next = q.number+1, nil
	}
	id := InquiryID{q.self, q.number}
	q.next = append(q.next, Report{Kind: Behind, Job: job, Tick: watermark, Until: q.number})
	if q.all[id] == nil {
		q.all[id] = &inquiry{ends: time.Now().Add(q.Time)}
	}
	q.all[id].reports = q.next
	return id
}

// Question is what is sent of an inquiry.
type Question struct {
	ID      InquiryID
	Reports []Report
	First   bool
}

// Take returns the questions to send now, for the first time or again, and whether there may be
// more later.
func (q *Inquiries) Take() (due []Question, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.next = nil
	q.pruneLocked()
	for id, in := range q.all {
		if id.Asker != q.self || in.missing != nil && len(in.missing) == 0 {
			continue
		}
		more = true
		if time.Since(in.sent) >= AskAgain {
			due = append(due, Question{id, in.reports, in.sent.IsZero()})
			in.sent = time.Now()
		}
	}
	return due, more
}

// Open begins an inquiry whose question was received, or is about to be sent. The members and this
// replica are to answer it.
func (q *Inquiries) Open(id InquiryID, jobs, members []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pruneLocked()
	q.mine = append(q.mine, id) // if it is known, the answer may have got lost
	in := q.all[id]
	if in == nil {
		in = &inquiry{ends: time.Now().Add(q.Time)}
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

func (q *Inquiries) pruneLocked() {
	for id, in := range q.all {
		if time.Until(in.ends) <= 0 {
			delete(q.all, id)
		}
	}
}

// Answered records that a member has answered, and returns the jobs that need not wait any longer.
func (q *Inquiries) Answered(id InquiryID, member string) (over []string) {
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

// TakeMine returns the inquiries that this replica has yet to answer, with their jobs.
func (q *Inquiries) TakeMine() map[InquiryID][]string {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := make(map[InquiryID][]string, len(q.mine))
	for _, id := range q.mine {
		if in := q.all[id]; in != nil {
			list[id] = in.jobs
		}
	}
	q.mine = nil
	return list
}
