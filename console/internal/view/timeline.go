package view

import (
	"cmp"
	"slices"
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs/schedule"
)

// ahead is which part of a page that follows the time lies ahead of now.
const ahead = 5

// window returns the time that q asks for, in whole cells.
func (q TimelineQuery) window(now time.Time) (from, to time.Time, cell time.Duration) {
	span := cmp.Or(q.Span, DefaultTimeline)
	cell = max(span/time.Duration(cmp.Or(q.Cells, 240)), time.Second).Truncate(time.Second)
	if from = q.From; from.IsZero() {
		from = now.Add(-span + span/ahead).Truncate(cell)
	}
	return from, from.Add(span), cell
}

// byName returns the jobs that a filter chooses, by name, and which of them are on the page.
func (q TimelineQuery) byName(s *Snapshot) (found []sortable, from, to int) {
	order := JobsQuery{JobFilter: q.JobFilter, Sort: SortName}
	found, _ = order.find(s)
	from, to = window(len(found), q.Limit, q.After, q.Before, order.search(found))
	return found, from, to
}

// TimelineJobs returns the names of the jobs on the page that q asks for, whose histories are to be
// read for it.
func TimelineJobs(s *Snapshot, q TimelineQuery) []string {
	found, from, to := q.byName(s)
	names := make([]string, 0, to-from)
	for _, f := range found[from:to] {
		names = append(names, f.name)
	}
	return names
}

// Timeline shows the jobs that q chooses, with the histories that fleet.Histories returns for
// [TimelineJobs].
func Timeline(s *Snapshot, histories map[string]fleet.JobHistory, q TimelineQuery, now time.Time) TimelinePage {
	p := TimelinePage{Head: s.head(now), Query: q, Total: len(s.Status.Jobs), Rows: []TimelineRow{}}
	from, to, cell := q.window(now)
	p.From, p.To, p.Cell = from, to, cell
	found, first, last := q.byName(s)
	p.Matching = len(found)
	order := JobsQuery{Sort: SortName}
	p.Next, p.Previous = order.cursors(found, first, last, q.After)
	zones := map[string]*time.Location{}
	for _, f := range found[first:last] {
		row := rowBuilder{s: s, j: &s.Status.Jobs[f.index], from: from, to: to, cell: cell, now: now}
		h, read := histories[f.name]
		p.Rows = append(p.Rows, row.build(h, read, f.states))
		if row.schedule != nil {
			zones[row.schedule.Location().String()] = row.schedule.Location()
		}
	}
	p.ClockChanges = zoneChanges(zones, from, to)
	return p
}

// zoneChanges returns the changes of the zones' clocks within a time, in order.
func zoneChanges(zones map[string]*time.Location, from, to time.Time) []ZoneChange {
	list := []ZoneChange{}
	for name, zone := range zones {
		for at := from; ; {
			_, end := at.In(zone).ZoneBounds()
			if end.IsZero() || end.After(to) {
				break
			}
			_, before := end.Add(-time.Second).Zone()
			_, after := end.Zone()
			if before != after {
				list = append(list, ZoneChange{end.UTC(), name, (time.Duration(after-before) * time.Second)})
			}
			at = end
		}
	}
	slices.SortFunc(list, func(a, b ZoneChange) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Timezone, b.Timezone)) })
	return list
}

// rowBuilder makes a row of the timeline.
type rowBuilder struct {
	s             *Snapshot
	j             *fleet.JobStatus
	from, to, now time.Time
	cell          time.Duration
	schedule      *schedule.Schedule // that the ticks of the row follow; nil when it is not known
	items         []Item
	ticks         int // of the schedule that were looked at
}

// mostTicks is how many ticks of a schedule a row looks at.
const mostTicks = 4000

func (b *rowBuilder) build(h fleet.JobHistory, read bool, states stateSet) TimelineRow {
	row := TimelineRow{Job: b.j.Name, Timezone: b.j.Timezone, States: states.list(), Kept: h.Since, Pauses: []Span{}, Items: []Item{}}
	b.schedule = b.s.schedule(b.j)
	row.ScheduleWords = wordsIn(b.schedule, b.j.Schedule, b.j.Spec.Leader, b.s.Wording)
	if read {
		row.Pauses = b.pauses(h.Facts)
		decided := map[int64]bool{} // ticks that the history has something of, in Unix ms
		for i := range h.Entries {
			row.Cut = b.entry(&h.Entries[i], decided) || row.Cut
		}
		row.Cut = b.gaps(h, decided) || row.Cut
	} else {
		row.Unread = b.s.Say("its history was not read")
	}
	b.coming()
	row.Items = bin(b.items, b.from, b.cell)
	return row
}

// inside reports whether a time from one instant to another is in part on the page.
func (b *rowBuilder) inside(from, to time.Time) bool { return !to.Before(b.from) && from.Before(b.to) }

func (b *rowBuilder) add(i Item) {
	if i.Counts == nil {
		i.Counts = map[string]int{}
	}
	if i.TakenOver == nil {
		i.TakenOver = []time.Time{}
	}
	b.items = append(b.items, i)
}

// entry shows what the history has of a tick or of a range. It reports whether there was too much
// to look at.
func (b *rowBuilder) entry(e *fleet.Entry, decided map[int64]bool) (cut bool) {
	if e.IsRange() {
		return b.settledRange(e, decided)
	}
	decided[e.Scheduled.UnixMilli()] = true
	i := Item{
		Tick: e.Moment(), Outcome: string(e.Outcome), Reason: e.Reason, Replica: e.Replica, Attempts: e.Attempts, Triggered: e.Triggered, Count: 1,
	}
	if e.State != wire.StateSettled {
		i.Outcome = b.stateNow(e)
	}
	switch {
	case e.Token == 0 && e.State == wire.StateSettled:
		i.Kind, i.From, i.To = ItemNone, e.Scheduled, e.Scheduled
	case e.Token == 0 || e.State == wire.StateFree:
		i.Kind, i.From, i.To = ItemWaiting, e.Scheduled, later(b.now, e.Scheduled)
	default:
		i.Kind, i.From, i.To = ItemRun, e.Started, e.Ended
		if e.State != wire.StateSettled {
			i.To = later(b.now, e.Started)
		}
	}
	for n, h := range e.Holders {
		if n == 0 && h.From.Before(i.From) {
			i.From = h.From
		}
		i.TakenOver = append(i.TakenOver, h.To)
	}
	if e.Scheduled.IsZero() && e.State != wire.StateSettled { // a leader task that runs has no tick
		i.Tick = time.Time{}
	}
	if b.inside(i.From, i.To) {
		b.add(i)
	}
	return false
}

// stateNow is the state of an open tick. Its history does not say that it waits for its next
// attempt, and the status of its job does.
func (b *rowBuilder) stateNow(e *fleet.Entry) string {
	for _, open := range b.j.Open {
		if open.Scheduled.Equal(e.Scheduled) && open.Token == e.Token && open.State == wire.StateRetrying {
			return open.State
		}
	}
	return e.State
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// settledRange shows the ticks of a range, as far as the schedule that is known has them.
func (b *rowBuilder) settledRange(e *fleet.Entry, decided map[int64]bool) (cut bool) {
	if !b.inside(e.From, e.Scheduled) {
		return false
	}
	i := Item{Kind: ItemNone, Outcome: string(e.Outcome), Reason: e.Reason, Replica: e.Replica, Count: 1}
	if b.schedule == nil {
		i.From, i.To, i.Tick, i.Count = e.From, e.Scheduled, e.Scheduled, e.Count
		b.add(i)
		return false
	}
	end := e.Scheduled
	if end.After(b.to) {
		end = b.to
	}
	at := b.schedule.Next(later(e.From, b.from.Add(-time.Second)))
	for ; !at.IsZero() && !at.After(end); at = b.schedule.Next(at) {
		if b.ticks++; b.ticks > mostTicks {
			i.From, i.To, i.Tick, i.Count = at, end, at, 0
			b.add(i)
			decided[rangeEnd] = true
			return true
		}
		if !decided[at.UnixMilli()] {
			decided[at.UnixMilli()] = true
			j := i
			j.From, j.To, j.Tick = at, at, at
			b.add(j)
		}
	}
	return false
}

// rangeEnd stands among the decided ticks for those of a range that were not looked at one by one.
const rangeEnd = -1

// undecidedAfter is how long after its time, its grace and its jitter a tick without anything
// counts as a gap.
const undecidedAfter = 5 * time.Second

// gaps shows the ticks that were due by the schedule, and of which the store has nothing. It leaves
// out those from before the definition in force, which may have had another schedule.
func (b *rowBuilder) gaps(h fleet.JobHistory, decided map[int64]bool) (cut bool) {
	sched := b.schedule
	if h.Schedule != "" {
		if inForce, err := wire.ParseSchedule(b.j.Name, h.Schedule); err == nil {
			sched = inForce
		}
	}
	if sched == nil || h.Since.IsZero() || b.j.Spec.Leader || decided[rangeEnd] {
		return false
	}
	grace := undecidedAfter + 10*time.Second
	if b.j.Given {
		grace = undecidedAfter + b.j.Spec.MisfireGrace + b.j.Spec.Jitter
	}
	end := b.now.Add(-grace)
	if end.After(b.to) {
		end = b.to
	}
	begin := later(later(b.from.Add(-time.Second), h.Since), h.Revised)
	for at := sched.Next(begin); !at.IsZero() && !at.After(end); at = sched.Next(at) {
		if b.ticks++; b.ticks > mostTicks {
			return true
		}
		if !decided[at.UnixMilli()] {
			b.add(Item{Kind: ItemGap, From: at, To: at, Tick: at, Count: 1})
		}
	}
	return false
}

// coming shows the ticks to come: one by one, or where they are close together, whether a cell has
// any.
func (b *rowBuilder) coming() {
	if b.schedule == nil || b.j.Spec.Leader {
		return
	}
	start := later(b.now, b.from.Add(-time.Second))
	if !start.Before(b.to) {
		return
	}
	each := b.to.Sub(start)/b.schedule.MinInterval() < mostTicks
	for at := b.schedule.Next(start); !at.IsZero() && at.Before(b.to); at = b.schedule.Next(at) {
		i := Item{Kind: ItemComing, From: at, To: at, Tick: at, Count: 1}
		if !each { // go on with the next cell
			end := b.from.Add(at.Sub(b.from).Truncate(b.cell) + b.cell - time.Second)
			if !b.schedule.Next(at).After(end) {
				i.To, i.Count = end, 0
			}
			at = later(at, end)
		}
		b.add(i)
	}
}

// pauses returns when the job was paused within the page, as far as its journal goes back.
func (b *rowBuilder) pauses(facts []fleet.Fact) []Span {
	list := []Span{}
	for _, f := range slices.Backward(facts) {
		if f.Kind == wire.FactResumed && !f.From.IsZero() && !f.To.IsZero() && b.inside(f.From, f.To) {
			list = append(list, Span{f.From, f.To, f.Pauser, f.Why})
		}
	}
	if p := b.j.Paused; p != nil && b.inside(p.Since, b.now) {
		list = append(list, Span{From: p.Since, By: p.By, Why: p.Reason})
	}
	return list
}
