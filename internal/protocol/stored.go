package protocol

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/naming"
)

// A stored schedule belongs to a job and a key. It is part of the record JOB/KEY, which is otherwise like
// the record of any job, so the same rules apply to the claims, pauses, triggers and history of a key. An
// index beside the records says when a replica must look at each of them.

// ErrNoIndex is returned by a store that has no index of what is due, and so keeps no schedules.
var ErrNoIndex = Permanent(errors.New("lease: this store keeps no schedules: use Redis, PostgreSQL, MySQL, MariaDB, SQLite or memory"))

// ErrRevision is returned for a change of a schedule that names another revision than the present one.
// Nothing has changed.
var ErrRevision = errors.New("lease: the schedule has another revision")

// Stored is what a record has of its schedule, besides the Revision and the text of the ticks.
type Stored struct {
	Payload    string    // of each run
	Start, End time.Time // bound the ticks, inclusive; the zero time means no bound
	// Due is when the first tick that is not decided is to start, in Unix ms: the tick plus its jitter.
	// Who decides a tick says when the next one is due. 0 means that there is none.
	Due int64
	By  string // who put it; matches the pattern of a name, or is empty
}

// Put creates or replaces a schedule. It changes only ticks that come later: a tick that runs goes on, and
// one that was decided is never granted again.
type Put struct {
	Name string // JOB/KEY
	// Revision identifies the definition: a put of the present one changes nothing. Schedule is the text
	// of the ticks. Both are as in [Sync].
	Revision, Schedule string
	Stored             // Due is that of the first tick after After
	// After is when the caller put the schedule, by its own estimate of the store's time, in Unix ms. No
	// earlier tick runs. The put fails with a [*BoundsError] if the estimate is more than 5 s ahead.
	After  int64
	Policy Policy

	If     string    // the revision that the present schedule must have; empty for any, or none
	Absent bool      // there must be none
	Until  time.Time // as in [Claim]
}

// PutStatus is the kind of an answer to a [Put].
type PutStatus int

// The values of PutStatus.
const (
	PutCreated   PutStatus = iota + 1 // there was none
	PutChanged                        // there was another one
	PutUnchanged                      // it was there already
)

// PutAnswer answers a [Put].
type PutAnswer struct {
	Status PutStatus
	Err    error // matches [ErrRevision] if the present schedule is not the one that the put expects
}

// Withdraw deletes a schedule. Its open ticks go on, but no further tick is granted. When no tick is open
// any more, the record is removed.
type Withdraw struct {
	Name  string // JOB/KEY
	If    string // as in [Put]
	Until time.Time
}

// Plan corrects when the next tick of a schedule is due. It is for a record whose watermark has moved
// without a claim or a skip, as a resumption or a repair moves it.
type Plan struct {
	Name, Revision string
	Watermark      int64 // the tick is the first after it
	Due            int64
	Until          time.Time
}

// Keyed is a record with its schedule.
type Keyed struct {
	Record // the zero Record, but for its name, when there is no schedule
	Stored
	Withdrawn bool      // it is kept for its open ticks only
	Look      time.Time // when somebody must look at it; zero for never
	Err       error     // it cannot be read; it is as if there were no schedule
}

// IsScheduled reports whether there is a schedule.
func (k *Keyed) IsScheduled() bool { return k.Revision != "" && !k.Withdrawn }

// Shares is the number of shares into which the index of a job is divided, by the hash of the key.
const Shares = 256

// Schedules is the part of a [Store] that keeps schedules. All of its methods return [ErrNoIndex] if the
// store has no index of what is due.
type Schedules interface {
	// PutSchedules puts schedules of different names, each as a whole or not at all.
	PutSchedules(ctx context.Context, puts []Put) ([]PutAnswer, error)
	// WithdrawSchedule reports whether there was one.
	WithdrawSchedule(ctx context.Context, w Withdraw) (found bool, err error)
	PlanSchedule(ctx context.Context, p Plan) error
	// GetSchedules returns the records of names, in their order.
	GetSchedules(ctx context.Context, names []string) ([]Keyed, error)
	// ListSchedules lists those of a job whose keys begin with prefix, about count at a time, in the order
	// of their keys. The cursor is as in Names.
	ListSchedules(ctx context.Context, job, prefix, cursor string, count int) (list []Keyed, next string, err error)
	// DueSchedules lists the schedules of a job that are due by a time, in these shares of the index. It
	// returns at most count of each share, the earliest first.
	DueSchedules(ctx context.Context, job string, shares []int, until time.Time, count int) ([]DueName, error)
}

// DueName is a name that somebody must look at, and the share of the index that it is in.
type DueName struct {
	Name  string
	Share int
}

// KeyedRule says in words what [ValidKeyed] checks.
const KeyedRule = "must be the name of a job, a slash and a key; both " + NameRule

// ValidKeyed reports whether s is the name of a record that can have a schedule: JOB/KEY.
func ValidKeyed(s string) bool { return strings.IndexByte(s, '/') > 0 && naming.ValidKeyed(s) }

// Validate returns every fault of p, joined, or nil. The error matches [ErrPermanent].
func (p Put) Validate() error {
	f := faults{of: "schedule", permanent: true}
	check(&f, ValidKeyed(p.Name), "name", p.Name, KeyedRule)
	s := Sync{Name: "job", Revision: p.Revision, Schedule: p.Schedule, Policy: p.Policy}
	if err := s.Validate(); err != nil {
		f.all = append(f.all, Permanent(err))
	}
	check(&f, p.Revision != "", "revision", p.Revision, "must not be empty")
	check(&f, ValidPayload(p.Payload), "payload", byteCount(p.Payload), PayloadRule)
	check(&f, p.By == "" || ValidName(p.By), "by", p.By, NameRule)
	f.tick("after", p.After, 1)
	check(&f, p.Due == 0 || p.Due > p.After && p.Due <= MaxTick, "due", p.Due, "must be later than after, or 0")
	check(&f, p.End.IsZero() || !p.End.Before(p.Start), "end", p.End, "must not be before the start")
	return f.err()
}

// Validate returns every fault of w, joined, or nil.
func (w Withdraw) Validate() error { return checkKeyed(w.Name) }

// Validate returns every fault of p, joined, or nil.
func (p Plan) Validate() error { return checkKeyed(p.Name) }

func checkKeyed(name string) error {
	if !ValidKeyed(name) {
		return Permanent(fmt.Errorf("lease: name %q %s", name, KeyedRule))
	}
	return nil
}
