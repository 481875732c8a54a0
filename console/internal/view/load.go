package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/schedule"
)

// mostLoadTicks is how many ticks a forecast looks at: those of 340 jobs that run every minute for
// two days.
const mostLoadTicks = 1_000_000

// Load shows the runs to come, with the histories that fleet.Histories returns for [LoadJobs]: of
// other jobs the newest run is known.
func Load(s *Snapshot, histories map[string]fleet.JobHistory, q LoadQuery, now time.Time) LoadPage {
	p := LoadPage{Head: s.head(now), Query: q, Points: []LoadPoint{}, Peaks: []Peak{}}
	step := cmp.Or(q.Step, 10*time.Minute)
	from := q.From
	if from.IsZero() {
		from = now
	}
	from = from.Truncate(time.Minute)
	to := from.Add(cmp.Or(q.Span, 2*day)).Truncate(time.Minute)
	p.From, p.To, p.Capacity = from, to, capacity(s.Status.Replicas)

	l := newForecast(from, to)
	for _, j := range s.loadJobs(q.JobFilter, histories) {
		if j.schedule.Next(from.Add(-time.Second)).IsZero() {
			continue
		}
		p.Jobs++
		if j.measured {
			p.Measured++
		}
		if !l.add(j) {
			p.Cut++
		}
	}
	p.Ticks = l.ticks
	l.runs.sum()
	l.high.sum()
	l.weights.sum()
	l.highWeights.sum()
	p.Points = l.points(step)
	for _, at := range l.busiest(cmp.Or(q.Top, 10)) {
		p.Peaks = append(p.Peaks, l.peak(at))
	}
	return p
}

// mostMeasured is how many jobs have their histories read for a forecast.
const mostMeasured = 500

// LoadJobs returns the names of the jobs whose histories are to be read for [Load]: those whose
// newest run took longest, which matter most.
func LoadJobs(s *Snapshot, q LoadQuery) []string {
	order := JobsQuery{JobFilter: q.JobFilter, Sort: SortTook, Descending: true}
	found, _ := order.find(s)
	names := []string{}
	for _, f := range found[:min(len(found), mostMeasured)] {
		if s.Status.Jobs[f.index].LastRun != nil {
			names = append(names, f.name)
		}
	}
	return names
}

// capacity is the weight that replicas run at a time; 0 where one has no limit.
func capacity(replicas []fleet.Replica) (sum int) {
	for _, r := range replicas {
		if r.MaxRuns == 0 {
			return 0
		}
		if !r.Stopping {
			sum += r.MaxRuns
		}
	}
	return sum
}

// loadJob is a job in the forecast.
type loadJob struct {
	name      string
	schedule  *schedule.Schedule
	median    int64 // s, at least 1
	high      int64
	took      time.Duration
	measured  bool
	weight    int32
	overlap   jobs.Overlap
	jitter    time.Duration
	suggested *suggestion // nil until it is looked for
}

func (s *Snapshot) loadJobs(f JobFilter, histories map[string]fleet.JobHistory) (list []loadJob) {
	found, _ := JobsQuery{JobFilter: f, Sort: SortName}.find(s)
	for _, f := range found {
		j := &s.Status.Jobs[f.index]
		sched := s.schedule(j)
		if sched == nil || j.Paused != nil || j.Spec.Paused || j.LeftOver() {
			continue
		}
		l := loadJob{name: j.Name, schedule: sched, median: 1, high: 1, weight: 1, overlap: jobs.Forbid}
		if j.Given {
			l.weight, l.overlap, l.jitter = int32(max(1, j.Spec.Weight)), j.Spec.Overlap, j.Spec.Jitter
		}
		d := measured(histories[j.Name].Entries)
		if d.Runs == 0 && j.LastRun != nil && ran(j.LastRun) {
			d = measurement{Runs: 1, Median: j.LastRun.Took(), P90: j.LastRun.Took()}
		}
		if d.Runs > 0 {
			l.took, l.median, l.high, l.measured = d.Median, wholeSeconds(d.Median), wholeSeconds(d.P90), true
		}
		list = append(list, l)
	}
	return list
}

func wholeSeconds(d time.Duration) int64 { return max(1, int64((d+time.Second-1)/time.Second)) }

// forecast counts the runs of each second.
type forecast struct {
	from, to             int64 // Unix s
	jobs                 []loadJob
	runs, high           changes // from from on
	weights, highWeights changes // of these
	starts               []int32 // by minute
	ticks                int
	counted              int // by fits
}

func newForecast(from, to time.Time) *forecast {
	n := to.Unix() - from.Unix()
	return &forecast{
		from: from.Unix(), to: to.Unix(), runs: newChanges(n), high: newChanges(n), weights: newChanges(n), highWeights: newChanges(n),
		starts: make([]int32, n/60+1),
	}
}

// add counts the runs of a job, and reports whether there was room for all of its ticks.
func (f *forecast) add(j loadJob) bool {
	before := f.from - min(j.high, int64(day/time.Second)) // runs that began before are still on
	if most := int(time.Duration(f.to-before) * time.Second / j.schedule.MinInterval()); f.ticks+most > mostLoadTicks && !f.fits(j, before) {
		return false
	}
	f.jobs = append(f.jobs, j)
	var median, high ends
	for at := j.schedule.Next(time.Unix(before-1, 0)); !at.IsZero() && at.Unix() < f.to; at = j.schedule.Next(at) {
		start := wire.Due(j.name, at.UnixMilli(), j.jitter) / 1000
		if at.Unix() >= f.from {
			f.ticks++
		}
		if start >= f.from && start < f.to {
			f.starts[(start-f.from)/60]++
		}
		if run, ok := median.next(start, j.median, j.overlap); ok {
			f.runs.bar(run-f.from, j.median, 1)
			f.weights.bar(run-f.from, j.median, j.weight)
		}
		if run, ok := high.next(start, j.high, j.overlap); ok {
			f.high.bar(run-f.from, j.high, 1)
			f.highWeights.bar(run-f.from, j.high, j.weight)
		}
	}
	return true
}

// fits counts the ticks of a job, and reports whether there is room for them. It counts for a while
// in all, however many jobs there are.
func (f *forecast) fits(j loadJob, from int64) bool {
	at, n := j.schedule.Next(time.Unix(from-1, 0)), 0
	for ; !at.IsZero() && at.Unix() < f.to && f.ticks+n <= mostLoadTicks && f.counted <= mostLoadTicks; at = j.schedule.Next(at) {
		n++
		f.counted++
	}
	return at.IsZero() || at.Unix() >= f.to
}

// ends is when the run before ends: what overlap lets a tick do depends on it.
type ends struct{ at int64 }

// next returns when the run of a tick that is due at start begins; none where an earlier one is in
// its way. A run that would be replaced counts to its end, which is a little too long.
func (e *ends) next(start, length int64, overlap jobs.Overlap) (at int64, ok bool) {
	switch {
	case overlap == jobs.Allow || overlap == jobs.Replace || start >= e.at:
	case overlap == jobs.Queue && e.at-start <= length: // one waits at most
		start = e.at
	default:
		return 0, false
	}
	e.at = start + length
	return start, true
}

// changes counts how many there are of something at each second, as changes from the second before
// until sum is called.
type changes []int32

func newChanges(seconds int64) changes { return make(changes, seconds) }

// bar adds some from a second on, for a time; what lies outside is left out.
func (c changes) bar(start, length int64, by int32) {
	end := start + length
	if n := int64(len(c)); end > 0 && start < n {
		c[max(start, 0)] += by
		if end < n {
			c[end] -= by
		}
	}
}

func (c changes) sum() {
	for i := 1; i < len(c); i++ {
		c[i] += c[i-1]
	}
}

func (f *forecast) points(step time.Duration) (list []LoadPoint) {
	size := int64(step / time.Second)
	for at := f.from; at < f.to; at += size {
		lo, hi := at-f.from, min(at+size, f.to)-f.from
		p := LoadPoint{At: time.Unix(at, 0).UTC()}
		for i := lo; i < hi; i++ {
			p.Runs = max(p.Runs, int(f.runs[i]))
			p.High = max(p.High, int(f.high[i]))
			p.Weight = max(p.Weight, int(f.weights[i]))
			p.HighWeight = max(p.HighWeight, int(f.highWeights[i]))
		}
		for m := lo / 60; m < (hi+59)/60; m++ {
			p.Starts += int(f.starts[m])
		}
		list = append(list, p)
	}
	return list
}

// apart is how far peaks lie apart at least, in minutes: a long one is shown once.
const apart = 15

// busiest returns the minutes with the most runs at a time in which some begin, the busiest first,
// each an offset from f.from.
func (f *forecast) busiest(most int) (minutes []int64) {
	n := int64(len(f.runs)) / 60
	most64 := make([]int32, n)
	order := make([]int64, 0, n)
	for m := range n {
		most64[m] = slices.Max(f.runs[m*60 : m*60+60])
		if f.starts[m] > 1 {
			order = append(order, m)
		}
	}
	slices.SortStableFunc(order, func(a, b int64) int {
		return cmp.Or(cmp.Compare(most64[b], most64[a]), cmp.Compare(f.starts[b], f.starts[a]))
	})
	for _, m := range order {
		if len(minutes) == most {
			break
		}
		if !slices.ContainsFunc(minutes, func(o int64) bool { return max(o-m, m-o) < apart }) {
			minutes = append(minutes, m)
		}
	}
	return minutes
}

// move moves the runs of a job to where its suggestion has them, from begin on, in changes.
func (f *forecast) move(j *loadJob, to suggestion, begin int64, c changes) {
	from, until := f.from+begin, f.from+begin+int64(len(c))
	for tick := j.schedule.Next(time.Unix(from-1, 0).Add(-j.jitter)); !tick.IsZero() && tick.Unix() < until; tick = j.schedule.Next(tick) {
		c.bar(wire.Due(j.name, tick.UnixMilli(), j.jitter)/1000-from, j.median, -1)
		c.bar(to.start(tick)-from, j.median, 1)
	}
}

// mostPeakJobs is how many jobs of a peak are shown.
const mostPeakJobs = 20

func (f *forecast) peak(minute int64) Peak {
	at := f.from + minute*60
	window := f.runs[minute*60 : minute*60+60]
	p := Peak{
		At: time.Unix(at, 0).UTC(), Starts: int(f.starts[minute]), Runs: int(slices.Max(window)),
		Weight: int(slices.Max(f.weights[minute*60 : minute*60+60])), Jobs: []PeakJob{},
	}
	begin := max(0, at/3600*3600-f.from) // of the hour
	flat := newChanges(min(3600+at%3600, int64(len(f.runs))-begin))
	for i := range f.jobs {
		j := &f.jobs[i]
		tick := j.schedule.Next(time.Unix(at-1, 0).Add(-j.jitter))
		start := wire.Due(j.name, tick.UnixMilli(), j.jitter) / 1000
		if tick.IsZero() || start < at || start >= at+60 {
			continue
		}
		if j.suggested == nil {
			j.suggested = new(j.suggest())
		}
		suggestion := *j.suggested
		if suggestion.text != "" {
			f.move(j, suggestion, begin, flat)
		}
		p.Jobs = append(p.Jobs, PeakJob{j.name, j.schedule.String(), j.took, j.measured, int(j.weight), suggestion.text})
	}
	flat.sum()
	for i, change := range flat {
		p.Flat = max(p.Flat, int(f.runs[begin+int64(i)]+change))
	}
	if p.Flat >= p.Runs { // they would move the peak, at best
		p.Flat = p.Runs
		for i := range p.Jobs {
			p.Jobs[i].Suggestion = ""
		}
	}
	slices.SortFunc(p.Jobs, func(a, b PeakJob) int {
		cost := func(j PeakJob) int64 { return int64(j.Weight) * int64(max(j.Median, time.Second)) }
		return cmp.Or(cmp.Compare(cost(b), cost(a)), strings.Compare(a.Job, b.Job))
	})
	if p.More = max(0, len(p.Jobs)-mostPeakJobs); p.More > 0 {
		p.Jobs = p.Jobs[:mostPeakJobs]
	}
	return p
}
