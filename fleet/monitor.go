package fleet

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

const (
	// recordsPerSecond is how many records a [Monitor] reads in a second between two calls, and
	// namesPerSecond how many of the names that a store lists.
	recordsPerSecond = 200
	namesPerSecond   = 50
	// shownFor is how long a job counts as shown after [Monitor.Show].
	shownFor = 35 * time.Second
)

// Monitor keeps the status of a fleet for those who ask again and again, at a cost that does not
// grow with the number of jobs. Its first call reads every record. A later one reads those that
// [Monitor.Changed] names, and 200 others for each second since the call before, at least 200. It
// prefers jobs that are shown, then jobs that run or are due, then those that were read longest
// ago. Of the rest it returns what it read last. It is safe for concurrent use.
type Monitor struct {
	fleet *Fleet

	mu    sync.Mutex
	since time.Time // since when the store remembers
	began time.Time // when the last reading began, by this machine's clock; zero before the first
	kept  map[string]*keptJob
	walk  walk

	hints   sync.Mutex // guards what follows
	changed map[string]bool
	shown   map[string]time.Time
}

// keptJob is what was read of a job.
type keptJob struct {
	summary protocol.Summary
	read    time.Time // by this machine's clock
	job     *jobs.Job // the definition that the rest was made with
	next    time.Time // the first tick that is undecided by the summary; zero when there is none
	status  JobStatus // without a name while it is to be made
}

// walk goes through the names of the store, a few at a time.
type walk struct {
	cursor string
	round  int
	found  map[string]int // names that nobody else knows: the round in which each was listed last
}

// Monitor returns a Monitor that has read nothing.
func (f *Fleet) Monitor() *Monitor {
	return &Monitor{fleet: f, changed: map[string]bool{}, shown: map[string]time.Time{}}
}

// Changed makes the next Status read a job: something has changed it.
func (m *Monitor) Changed(job string) {
	m.hints.Lock()
	defer m.hints.Unlock()
	if naming.Valid(job) { // and no stored schedule, which is no job of the status
		m.changed[job] = true
	}
}

// Show makes Status read these jobs before others while they run or are due, for half a minute.
func (m *Monitor) Show(names []string) {
	m.hints.Lock()
	defer m.hints.Unlock()
	now := time.Now()
	maps.DeleteFunc(m.shown, func(_ string, at time.Time) bool { return now.Sub(at) > shownFor })
	for _, name := range names {
		m.shown[name] = now
	}
}

// Status returns what [Fleet.Status] does for all jobs. The result shares memory with later ones,
// and must not be changed.
func (m *Monitor) Status(ctx context.Context, given []*jobs.Job) (Status, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	began := time.Now()
	s, all, err := m.fleet.present(ctx, given)
	if err != nil {
		return Status{}, err
	}
	if m.began.IsZero() || !s.Since.Equal(m.since) {
		m.since, m.began, m.kept, m.walk = s.Since, time.Time{}, map[string]*keptJob{}, walk{found: map[string]int{}}
	}
	if all, err = m.withLeftOver(ctx, all, m.allowance(began, namesPerSecond)); err != nil {
		return Status{}, err
	}
	if err := m.read(ctx, all, s.Now, m.allowance(began, recordsPerSecond)); err != nil {
		return Status{}, err
	}
	m.began = began
	service := serviceOf(s.Replicas)
	for _, a := range all {
		k := m.kept[a.name]
		if m.isLease(k) {
			continue
		}
		// What fails of an open tick heartbeats say, not its record.
		if next := k.status.Next; k.status.Name == "" || len(k.summary.Open) > 0 || k.due(s.Now) || !next.IsZero() && !next.After(s.Now) {
			k.status = m.fleet.jobStatus(a.name, a.job, k.summary, service, s.Now)
		}
		k.status.Replicas, k.status.Unserved, k.status.Revisions = service.Of(a.name)
		s.Jobs = append(s.Jobs, k.status)
	}
	return s, nil
}

// isLease reports whether only the store knows the name, and no tick of it: it is of a lease that
// no job has.
func (m *Monitor) isLease(k *keptJob) bool {
	return k.summary.Watermark == 0 && m.walk.found[k.summary.Name] != 0
}

// allowance is how much may be read after the time since the last reading.
func (m *Monitor) allowance(now time.Time, perSecond float64) int {
	if m.began.IsZero() {
		return math.MaxInt32
	}
	return int(min(perSecond*max(1, now.Sub(m.began).Seconds()), math.MaxInt32))
}

// withLeftOver adds the names that only the store knows, as far as it has listed them.
func (m *Monitor) withLeftOver(ctx context.Context, all []asked, allowance int) ([]asked, error) {
	known := make(map[string]bool, len(all))
	for _, a := range all {
		known[a.name] = true
	}
	if err := m.walk.on(ctx, m.fleet.store, known, allowance); err != nil {
		return nil, err
	}
	for name := range m.kept { // a job that was removed a moment ago
		if !known[name] && m.walk.found[name] == 0 {
			m.walk.found[name] = m.walk.round + 1
		}
	}
	maps.DeleteFunc(m.kept, func(name string, _ *keptJob) bool { return !known[name] && m.walk.found[name] == 0 })
	for _, name := range slices.Sorted(maps.Keys(m.walk.found)) {
		if known[name] {
			delete(m.walk.found, name)
			continue
		}
		all = append(all, asked{name: name})
	}
	return all, nil
}

// on lists about so many more names, to the end of a round at most. A name that was not listed in
// a whole round is found no more.
func (w *walk) on(ctx context.Context, index protocol.Store, known map[string]bool, allowance int) error {
	for allowance > 0 {
		names, next, err := index.Names(ctx, w.cursor, min(allowance, namesAtOnce))
		if err != nil {
			return err
		}
		for _, name := range names {
			if !known[name] {
				w.found[name] = w.round + 1
			}
		}
		allowance -= max(len(names), 1)
		if w.cursor = next; next == "" {
			maps.DeleteFunc(w.found, func(_ string, round int) bool { return round <= w.round })
			w.round++
			return nil
		}
	}
	return nil
}

// read reads the jobs that were not read yet or have changed, and as many others as are allowed.
func (m *Monitor) read(ctx context.Context, all []asked, now time.Time, allowance int) error {
	m.hints.Lock()
	changed, shown := m.changed, maps.Clone(m.shown)
	m.changed = map[string]bool{}
	m.hints.Unlock()
	var must, first, soon, others []asked
	for _, a := range all {
		k := m.kept[a.name]
		if k != nil && k.job != a.job {
			k.job, k.next, k.status = a.job, undecided(a.job, k.summary.Record), JobStatus{}
		}
		switch {
		case k == nil || changed[a.name]:
			must = append(must, a)
		case !k.due(now) || m.isLease(k):
			others = append(others, a)
		case time.Since(shown[a.name]) <= shownFor:
			first = append(first, a)
		default:
			soon = append(soon, a)
		}
	}
	longestUnread := func(a, b asked) int { return m.kept[a.name].read.Compare(m.kept[b.name].read) }
	for _, list := range [][]asked{first, soon, others} {
		slices.SortStableFunc(list, longestUnread)
	}
	urgent := append(first, soon...)
	spare := min(len(others), max(allowance/4, allowance-len(urgent))) // others get a quarter at least
	chosen := slices.Concat(must, urgent[:min(len(urgent), allowance-spare)], others[:spare])
	at := time.Now()
	err := m.fleet.summaries(ctx, chosen, func(i int, summary protocol.Summary) {
		job := chosen[i].job
		m.kept[chosen[i].name] = &keptJob{summary: summary, read: at, job: job, next: undecided(job, summary.Record)}
	})
	if err != nil {
		for name := range changed {
			m.Changed(name)
		}
	}
	return err
}

// due reports whether the job may have changed by itself since it was read.
func (k *keptJob) due(now time.Time) bool {
	return len(k.summary.Open) > 0 || k.summary.Watermark == 0 || !k.next.IsZero() && !k.next.After(now)
}

// undecided returns the first tick after the watermark of a record; zero when there is none.
func undecided(job *jobs.Job, r protocol.Record) time.Time {
	if r.Watermark == 0 {
		return time.Time{}
	}
	if job != nil {
		return job.Schedule().Next(wire.FromMilli(r.Watermark))
	}
	known := JobStatus{Name: r.Name}
	known.Timezone, known.Schedule, _ = strings.Cut(scheduleIn(r), " ")
	if s := known.ScheduleOf(); s != nil {
		return s.Next(wire.FromMilli(r.Watermark))
	}
	return time.Time{}
}
