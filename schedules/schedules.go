// Package schedules keeps the schedules of a job in the store: one for each key, such as a customer,
// a tenant or a device. A service creates, edits and deletes them while it runs.
//
//	report, err := jobs.New("customer-report", "", makeReport, jobs.WithSchedules())
//	...
//	s, err := schedules.New(store, "customer-report")
//	_, err = s.Put(ctx, schedules.Schedule{Key: "acme", Cron: "0 7 * * 1-5", Timezone: "Asia/Shanghai", Payload: `{"format": "pdf"}`})
//	_, err = s.Put(ctx, schedules.Schedule{Key: "acme-welcome", At: time.Now().Add(72 * time.Hour)}) // once
//
// The handler gets the key as Run.Key and the payload as Run.Payload. All policies of the job hold
// for each key by itself. The name JOB/KEY stands for the schedule in package fleet: its history,
// why, cancel and repair are those of a job of that name.
package schedules

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/schedule"
	"github.com/solotick/solotick/lease"
)

// Schedule makes ticks of a job for a key. It has exactly one of Cron and At.
type Schedule struct {
	Key string `json:"key"` // matches the pattern of a name
	// Cron is when it ticks, as a job's schedule has it: a cron expression, a descriptor or @every. H
	// depends on the job and the key.
	Cron string `json:"cron,omitempty"`
	// At is the time of the only tick of a schedule without Cron. It is rounded up to a whole second.
	At time.Time `json:"at,omitzero"`
	// Timezone is an IANA name. Empty means the time zone of the job, which is UTC unless it says
	// otherwise; what is read from the store always has one.
	Timezone string `json:"timezone,omitempty"`
	// Payload is given to each run: at most 4096 bytes of UTF-8 without NUL. Everybody who may read the
	// store sees it.
	Payload string `json:"payload,omitempty"`
	// Start and End bound the ticks, both included; the zero time means no bound.
	Start time.Time `json:"start,omitzero"`
	End   time.Time `json:"end,omitzero"`

	// Get and List fill in the rest, and Put ignores it.

	Revision  string    `json:"revision,omitempty"`   // identifies the fields above; for [IfRevision]
	Updated   time.Time `json:"updated,omitzero"`     // when they were put, by fleet time
	UpdatedBy string    `json:"updated_by,omitempty"` // by whom, if [By] said so
	Paused    *Pause    `json:"paused,omitempty"`     // nil when it is not
	Next      time.Time `json:"next,omitzero"`        // the first tick that is not decided; zero when none is to come
	Running   int       `json:"running,omitempty"`    // how many of its ticks run
}

// Pause says who paused a schedule, when and why.
type Pause struct {
	By     string    `json:"by"`
	Reason string    `json:"why"`
	Since  time.Time `json:"since"`
}

var (
	// ErrNotFound is returned for a key without a schedule.
	ErrNotFound = errors.New("there is no such schedule")
	// ErrRevision is matched by the error of a change that names another revision than the present one,
	// or wants none to be there. Nothing has changed.
	ErrRevision = protocol.ErrRevision
	// ErrNoIndex is matched by the error of a store that keeps no schedules.
	ErrNoIndex = protocol.ErrNoIndex
	// ErrOwnSchedule is matched by the error for a job that has a schedule of its own.
	ErrOwnSchedule = errors.New("its schedules do not lie in the store: make it with jobs.WithSchedules, or with schedules: stored in place of schedule")
)

// Schedules are those of a job. It is safe for concurrent use.
type Schedules struct {
	store lease.Store
	fleet *fleet.Fleet
	job   string
	given *jobs.Job

	mu   sync.Mutex
	last view
}

// New returns the schedules of a job, in the store that its replicas use. What their changes need of
// the job's definition, such as its jitter, is in the record that the replicas keep. The error joins
// all faults of the arguments.
func New(store lease.Store, job string) (*Schedules, error) { return of(store, job, nil) }

// Of is [New] for a program that has the job. Its schedules can be put before any replica runs.
func Of(store lease.Store, job *jobs.Job) (*Schedules, error) {
	if job == nil {
		return nil, errors.New("schedules: job: nil, must be a job")
	}
	if !job.Schedule().Stored() {
		return nil, fmt.Errorf("schedules: job %q: %w", job.Name(), ErrOwnSchedule)
	}
	return of(store, job.Name(), job)
}

func of(store lease.Store, job string, given *jobs.Job) (*Schedules, error) {
	f, err := fleet.New(store)
	if !naming.Valid(job) {
		err = errors.Join(err, fmt.Errorf("schedules: job: %q %s", job, naming.Rule))
	}
	if err != nil {
		return nil, err
	}
	return &Schedules{store: store, fleet: f, job: job, given: given}, nil
}

// On returns the same schedules in another view of the store: those of PostgreSQL and MySQL have one in
// a transaction of the caller's.
//
//	tx, err := db.BeginTx(ctx, nil)
//	...
//	_, err = tx.ExecContext(ctx, "INSERT INTO customers ...")
//	_, err = s.On(store.InTx(tx)).Put(ctx, schedules.Schedule{Key: "acme", Cron: "0 7 * * 1-5"})
//	...
//	err = tx.Commit()
func (s *Schedules) On(store lease.Store) *Schedules {
	f, _ := fleet.New(store) // which fails for nil alone
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Schedules{store: store, fleet: f, job: s.job, given: s.given, last: s.last}
}

// Job returns the job's name.
func (s *Schedules) Job() string { return s.job }

// name returns the name of a key's record.
func (s *Schedules) name(key string) string { return naming.Keyed(s.job, key) }

// view is what changes need to know of the job and of fleet time.
type view struct {
	policy protocol.Policy
	zone   string    // of the job
	until  time.Time // as fleet.Until has said at read
	read   time.Time
}

// viewAge is for how long a view is used: changes in quick succession ask for it once.
const viewAge = time.Second

// now returns fleet time.
func (v *view) now() time.Time { return v.until.Add(time.Since(v.read) - fleet.ClockLimit) }

// view returns the view of the last second, unless it must be fresh.
func (s *Schedules) view(ctx context.Context, fresh bool) (view, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !fresh && time.Since(s.last.read) < viewAge {
		return s.last, nil
	}
	r, err := s.store.Inspect(ctx, s.job)
	if err != nil {
		return view{}, err
	}
	v := view{policy: r.Policy, read: time.Now()}
	var stored bool
	if n := len(r.Schedules); n > 0 {
		v.zone, stored = strings.CutSuffix(strings.ToLower(r.Schedules[n-1].Text), " @stored")
		v.zone = r.Schedules[n-1].Text[:len(v.zone)]
	}
	switch {
	case stored:
	case s.given != nil: // no replica that knows it this way has begun
		v.policy, v.zone = wire.PolicyOf(s.given.Spec()), s.given.Schedule().Location().String()
	case r.Watermark == 0 && r.Token == 0:
		return view{}, fmt.Errorf("job %q: %w", s.job, fleet.ErrUnknown)
	default:
		return view{}, fmt.Errorf("job %q: %w", s.job, ErrOwnSchedule)
	}
	v.policy.NoTriggers = false // that is of the job alone
	if v.until, err = s.fleet.Until(ctx); err != nil {
		return view{}, err
	}
	s.last = v
	return v, nil
}

// Get returns the schedule of a key. It returns [ErrNotFound] if there is none.
func (s *Schedules) Get(ctx context.Context, key string) (Schedule, error) {
	if !naming.Valid(key) {
		return Schedule{}, fmt.Errorf("schedule %q: %w", key, ErrNotFound)
	}
	list, err := s.store.GetSchedules(ctx, []string{s.name(key)})
	if err == nil {
		err = list[0].Err
	}
	if err != nil {
		return Schedule{}, err
	}
	if !list[0].IsScheduled() {
		return Schedule{}, fmt.Errorf("schedule %q: %w", key, ErrNotFound)
	}
	return shown(&list[0]), nil
}

// JobOf returns the job as it runs for a key, which is what package fleet looks at. It is of a job that
// this program has: see [Of].
func (s *Schedules) JobOf(ctx context.Context, key string) (*jobs.Job, error) {
	if s.given == nil {
		return nil, fmt.Errorf("schedules: job %q: its definition is not known here", s.job)
	}
	row, err := s.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	ticks, err := wire.ParseSchedule(s.name(key), row.Timezone+" "+row.text())
	if err != nil {
		return nil, err
	}
	return s.given.WithKey(key, ticks.Within(row.Start, row.End)), nil
}

// shown returns a schedule as the store has it.
func shown(k *protocol.Keyed) Schedule {
	_, key := naming.SplitKeyed(k.Name)
	row := Schedule{
		Key: key, Payload: k.Payload, Start: k.Start, End: k.End, Revision: k.Revision, Updated: k.Revised.UTC(), UpdatedBy: k.By,
	}
	if p := k.Paused; p != nil {
		row.Paused = &Pause{By: p.By, Reason: p.Reason, Since: p.Since.UTC()}
	}
	for _, o := range k.Open {
		if o.Remaining > 0 {
			row.Running++
		}
	}
	if len(k.Schedules) == 0 {
		return row
	}
	text := k.Schedules[len(k.Schedules)-1].Text
	row.Timezone, row.Cron, _ = strings.Cut(text, " ")
	if at, once := strings.CutPrefix(row.Cron, atPrefix); once {
		row.Cron = ""
		row.At, _ = time.Parse(time.RFC3339, at) // as Put wrote it
	}
	if ticks, err := wire.ParseSchedule(k.Name, text); err == nil && k.Due != 0 {
		row.Next = ticks.Within(row.Start, row.End).Next(time.UnixMilli(k.Watermark))
	}
	return row
}

// Page is a part of a list.
type Page struct {
	Schedules []Schedule `json:"schedules"`
	Next      string     `json:"next"` // the cursor of the next page; empty when there is none
}

// List returns about count schedules whose keys begin with prefix, in the order of their keys. The
// cursor is empty at first, and then the Next of the page before. A schedule that is there throughout is
// listed.
func (s *Schedules) List(ctx context.Context, prefix, cursor string, count int) (Page, error) {
	page := Page{Schedules: []Schedule{}, Next: cursor}
	for {
		list, next, err := s.store.ListSchedules(ctx, s.job, prefix, page.Next, max(count-len(page.Schedules), 1))
		if err != nil {
			return Page{}, err
		}
		for i := range list {
			page.Schedules = append(page.Schedules, shown(&list[i]))
		}
		if page.Next = next; next == "" || len(page.Schedules) >= count {
			return page, nil
		}
	}
}

// NextTicks returns the first n ticks that a schedule makes from now on, whether or not it was put. Its
// error is that of [Schedules.Put].
func (s *Schedules) NextTicks(ctx context.Context, row Schedule, n int) ([]time.Time, error) {
	v, err := s.view(ctx, false)
	if err != nil {
		return nil, err
	}
	_, ticks, err := s.define(row, &v)
	if err != nil && !errors.Is(err, errOver) {
		return nil, err
	}
	return following(ticks, v.now(), n), nil
}

func following(ticks *schedule.Schedule, after time.Time, n int) (list []time.Time) {
	for t := ticks.Next(after); !t.IsZero() && len(list) < n; t = ticks.Next(t) {
		list = append(list, t)
	}
	return list
}
