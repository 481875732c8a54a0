package view

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wording"
	"github.com/solotick/solotick/jobs/schedule"
)

// JobsPage shows the jobs that a query chooses, a page of them at a time.
type JobsPage struct {
	Head
	Query    JobsQuery `json:"query"`
	Total    int       `json:"total"`    // jobs of the fleet
	Matching int       `json:"matching"` // of these, those that the filter chooses

	// How many jobs each choice of the filter would leave, all of its others kept: those of a menu.
	States   []Choice `json:"states"`
	Groups   []Choice `json:"groups"`
	Replicas []Choice `json:"replicas"`

	Jobs     []JobRow `json:"jobs"`
	Next     string   `json:"next"`     // cursor for after; "" on the last page
	Previous string   `json:"previous"` // cursor for before; "" on the first page
}

// Choice is a value of a filter, with the number of jobs that it leaves.
type Choice struct {
	Value string `json:"value"`
	Jobs  int    `json:"jobs"`
	On    bool   `json:"on"` // it is chosen
}

// JobRow is a job in the list.
type JobRow struct {
	Job           string   `json:"job"`
	Configured    bool     `json:"configured"` // this process has its definition
	Leader        bool     `json:"leader"`     // it runs all the time, and has no ticks
	Schedule      string   `json:"schedule"`   // "" of a leader task, or where it is not known
	ScheduleWords string   `json:"schedule_words"`
	Timezone      string   `json:"timezone"`
	Groups        []string `json:"groups"` // that it is for; none for all

	States []State `json:"states"` // at least one, the most urgent first

	Last    *fleet.Entry       `json:"last"`     // settled last; null when none is kept
	LastRun *fleet.Entry       `json:"last_run"` // the newest that was run
	Success time.Time          `json:"last_success"`
	Strip   []protocol.Outcome `json:"newest_outcomes"` // newest last, 12 at most
	Open    []fleet.Entry      `json:"open"`            // that run or wait, newest first

	Next    time.Time     `json:"next"`
	NextIn  time.Duration `json:"next_in_ms"` // 0 when it is due
	Overdue time.Time     `json:"overdue"`    // the oldest tick that should have been decided
	Late    time.Duration `json:"overdue_ms"`
	Ahead   time.Duration `json:"watermark_ahead_ms"`

	Paused     *Pause `json:"paused"` // for the whole fleet
	PausedHere bool   `json:"paused_by_configuration"`

	Replicas    []string     `json:"replicas"` // that serve it, without those that are stopping
	Unserved    bool         `json:"unserved"` // it is certain that none does
	Definitions []Definition `json:"revisions"`

	status   *fleet.JobStatus
	schedule *schedule.Schedule // nil where there is none
}

// InStore reports whether its schedules lie in the store: it has no ticks of its own.
func (j JobRow) InStore() bool { return j.schedule != nil && j.schedule.Stored() }

// LeftOver reports whether only the store knows the job.
func (j JobRow) LeftOver() bool { return slices.Contains(j.States, StateLeftOver) }

// Pause says who paused a job, since when and why.
type Pause struct {
	By     string        `json:"by"`
	Reason string        `json:"reason"`
	Since  time.Time     `json:"since"`
	For    time.Duration `json:"for_ms"`
}

// Definition is a revision of a job, where replicas have different ones.
type Definition struct {
	Revision string   `json:"revision"`
	Replicas []string `json:"replicas"`
}

// Jobs shows the jobs of a snapshot that q chooses.
func Jobs(s *Snapshot, q JobsQuery, now time.Time) JobsPage {
	p := JobsPage{Head: s.head(now), Query: q, Total: len(s.Status.Jobs)}
	found, match := q.find(s)
	p.Matching = len(found)
	p.States, p.Groups, p.Replicas = match.choices()
	from, to := window(len(found), q.Limit, q.After, q.Before, q.search(found))
	p.Jobs = make([]JobRow, 0, to-from)
	for _, f := range found[from:to] {
		p.Jobs = append(p.Jobs, s.row(&s.Status.Jobs[f.index], f.states, now))
	}
	p.Next, p.Previous = q.cursors(found, from, to, q.After)
	return p
}

// find returns the jobs that q chooses, in its order.
func (q JobsQuery) find(s *Snapshot) ([]sortable, *matcher) {
	match := newMatcher(s, q.JobFilter)
	found := make([]sortable, 0, len(s.Status.Jobs))
	for i := range s.Status.Jobs {
		if states := stateOf(&s.Status.Jobs[i]); match.job(i, states) {
			found = append(found, sortable{place: q.place(&s.Status.Jobs[i], states), index: i, states: states})
		}
	}
	slices.SortFunc(found, func(a, b sortable) int { return a.place.compare(b.place, q.Descending) })
	return found, match
}

// search returns what finds the place of a cursor in a list.
func (q JobsQuery) search(list []sortable) func(cursor string) (int, bool) {
	return func(cursor string) (int, bool) {
		c, _ := decode[jobCursor](cursor)
		return slices.BinarySearchFunc(list, place{c.Key, c.Name}, func(s sortable, p place) int { return s.compare(p, q.Descending) })
	}
}

// cursors returns those of the pages around the one that has the rows from one to another.
func (q JobsQuery) cursors(list []sortable, from, to int, after string) (next, previous string) {
	return around(from, to, len(list), after, func(i int) string { return q.cursor(list[i]) })
}

// Matching returns the names of the jobs that a filter chooses, sorted: for actions in bulk.
func Matching(s *Snapshot, f JobFilter) []string {
	match, names := newMatcher(s, f), []string{}
	for i := range s.Status.Jobs {
		if match.job(i, stateOf(&s.Status.Jobs[i])) {
			names = append(names, s.Status.Jobs[i].Name)
		}
	}
	slices.Sort(names)
	return names
}

// place is where a job stands in an order.
type place struct {
	key  int64
	name string
}

func (a place) compare(b place, descending bool) int {
	n := cmp.Or(cmp.Compare(a.key, b.key), strings.Compare(a.name, b.name))
	if descending {
		return -n
	}
	return n
}

type sortable struct {
	place
	index  int
	states stateSet
}

func (q JobsQuery) place(j *fleet.JobStatus, states stateSet) place {
	p := place{name: j.Name}
	switch q.Sort {
	case SortState:
		p.key = int64(bits.TrailingZeros16(uint16(states)))
	case SortNext:
		p.key = unix(j.Next)
	case SortLast:
		p.key = moment(j.LastRun)
	case SortTook:
		if p.key = -1; j.LastRun != nil {
			p.key = j.LastRun.Took().Milliseconds()
		}
	case SortName:
	}
	return p
}

func (q JobsQuery) cursor(s sortable) string {
	return encode(jobCursor{Sort: q.Sort, Descending: q.Descending, Key: s.key, Name: s.name})
}

func (s *Snapshot) row(j *fleet.JobStatus, states stateSet, now time.Time) JobRow {
	r := JobRow{
		Job: j.Name, Configured: j.Given, Leader: j.Spec.Leader, Schedule: j.Schedule, Timezone: j.Timezone, Groups: append([]string{}, s.groups(j)...),
		States: states.list(), Last: j.Last, LastRun: j.LastRun, Strip: j.Newest, Open: j.Open,
		Next: j.Next, NextIn: until(j.Next, now), Overdue: j.Overdue, Late: since(j.Overdue, now), Ahead: j.Ahead, PausedHere: j.Spec.Paused,
		Replicas: j.Replicas, Unserved: j.Unserved, Definitions: []Definition{},
	}
	if r.Leader {
		r.Schedule = ""
	}
	r.status = j
	r.schedule = s.schedule(j)
	r.ScheduleWords = wordsIn(r.schedule, j.Schedule, r.Leader, s.Wording)
	if j.LastSuccess != nil {
		r.Success = j.LastSuccess.Moment()
	}
	if j.Paused != nil {
		r.Paused = &Pause{By: j.Paused.By, Reason: j.Paused.Reason, Since: j.Paused.Since, For: since(j.Paused.Since, now)}
	}
	for revision, replicas := range j.Revisions {
		r.Definitions = append(r.Definitions, Definition{revision, replicas})
	}
	slices.SortFunc(r.Definitions, func(a, b Definition) int {
		return cmp.Or(cmp.Compare(len(b.Replicas), len(a.Replicas)), strings.Compare(a.Revision, b.Revision))
	})
	return r
}

// groups returns the groups that a job is for, as far as that is known.
func (s *Snapshot) groups(j *fleet.JobStatus) []string {
	if j.Given {
		return j.Spec.Groups
	}
	for _, d := range s.Definitions[j.Name] {
		if list := d.Fields["groups"]; list != "" {
			return strings.Split(list, ", ")
		}
	}
	return nil
}

// schedule returns the schedule of a job; nil of a leader task, and where it is not known.
func (s *Snapshot) schedule(j *fleet.JobStatus) *schedule.Schedule {
	if job := s.Given[j.Name]; job != nil && !j.Spec.Leader {
		return job.Schedule()
	}
	return j.ScheduleOf()
}

// wordsIn says when a job runs.
func wordsIn(s *schedule.Schedule, spec string, leader bool, w wording.Wording) string {
	switch {
	case leader:
		return w.Say("all the time, on one replica")
	case s == nil:
		return spec
	}
	return s.Words(w)
}
