package view

import (
	"slices"
	"strings"
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/wire"
)

// TickQuery asks for a [TickPage] or a [WhyPage].
type TickQuery struct {
	Job  string    `json:"job"`
	Tick time.Time `json:"tick"` // none for the one that fleet.Why chooses
	Zone string    `json:"zone"`
}

// bind names the parameters but the job, which comes from the path of a URL.
func (q *TickQuery) bind(p *Parameters) {
	p.Time("tick", &q.Tick)
	p.Zone(&q.Zone)
}

// TickPage shows a tick by its attempts.
type TickPage struct {
	Head
	Query    TickQuery     `json:"query"`
	Job      string        `json:"job"`
	Tick     time.Time     `json:"tick"`
	ID       string        `json:"id"`
	Timezone string        `json:"timezone"`
	Verdict  string        `json:"verdict"`
	Text     string        `json:"text"`  // its fate, in words
	Entry    *fleet.Entry  `json:"entry"` // null when the store has nothing of it
	Lateness time.Duration `json:"late_ms"`
	Attempts []Attempt     `json:"attempts"` // first to last
	Output   []string      `json:"output"`   // the last lines of what the last run failed with
	Events   []Event       `json:"events"`   // about it, or about its time, newest first
	Earlier  time.Time     `json:"earlier"`  // the tick of the schedule before it; none where it is not known
	Later    time.Time     `json:"later"`

	explained fleet.Explanation
}

// About returns the job that the page is about, and its zone.
func (p TickPage) About() (job, zone string) { return p.Job, p.Timezone }

// Attempt is a run of a tick.
type Attempt struct {
	fleet.Run
	Granted time.Time     `json:"granted"`
	Took    time.Duration `json:"took_ms"`
	Retries int           `json:"retries"` // runs between the one before and this one, of which nothing is kept
	NextBy  string        `json:"next_by"` // who took it over
}

// WhyPage explains the fate of a tick: who asked, what each was answered, which policy decided, and what would
// have made it run.
type WhyPage struct {
	TickPage
	Asked  []Asked `json:"asked"`  // first to last; then the live replicas, where the tick may run yet
	Policy string  `json:"policy"` // such as "overlap: forbid"; "" when none decided
	Remedy string  `json:"remedy"` // what would have made it run; "" when it ran
}

// Asked is somebody who asked for a tick, or could, and the answer.
type Asked struct {
	By     string    `json:"by"`
	At     time.Time `json:"at"` // none when it did not ask
	Answer Answer    `json:"answer"`
	Text   string    `json:"text"`
}

// Tick shows the tick that e explains.
func Tick(s *Snapshot, e fleet.Explanation, q TickQuery, now time.Time) TickPage {
	p := TickPage{
		Head: s.head(now), Query: q, Job: e.Job, Tick: e.Tick, ID: e.ID, Verdict: e.Verdict, Text: e.Text, Entry: e.Entry,
		Attempts: []Attempt{}, Output: []string{}, explained: e,
	}
	if j := s.job(e.Job); j != nil {
		p.Timezone = j.Timezone
		if sched := s.schedule(j); sched != nil && !e.Tick.IsZero() {
			p.Earlier, p.Later = sched.Before(e.Tick), sched.Next(e.Tick)
		}
	}
	zone := zoneOf(q.Zone, p.Timezone)
	p.Events = s.events(e.Facts, zone)
	if !e.Tick.IsZero() {
		p.explained.Tick = e.Tick.In(zone)
	}
	if e.Entry == nil {
		return p
	}
	p.Lateness = lateness(*e.Entry)
	p.Attempts = attempts(*e.Entry)
	if _, output, ok := strings.Cut(strings.TrimRight(e.Entry.Error, "\n"), "\n"); ok {
		p.Output = strings.Split(output, "\n")
	}
	return p
}

// job returns a job of the snapshot, or the schedule that it has besides; nil when it is not there.
func (s *Snapshot) job(name string) *fleet.JobStatus {
	if s.Stored != nil && s.Stored.Name == name {
		return s.Stored
	}
	for i := range s.Status.Jobs {
		if s.Status.Jobs[i].Name == name {
			return &s.Status.Jobs[i]
		}
	}
	return nil
}

// attempts lists the runs of a tick, first to last.
func attempts(e fleet.Entry) []Attempt {
	list := []Attempt{}
	if e.Token == 0 || e.IsRange() {
		return list
	}
	runs := e.Runs
	if len(runs) == 0 { // what made the entry knows only the last
		last := fleet.Run{Attempt: e.Attempts, Replica: e.Replica, Token: e.Token, Started: e.Started, Ended: e.Ended, End: string(e.Outcome)}
		last.Error, _, _ = strings.Cut(e.Error, "\n")
		if e.State != wire.StateSettled {
			last.End = e.State
		}
		runs = []fleet.Run{last}
	}
	number := 0
	for i, r := range runs {
		a := Attempt{Run: r, Granted: granted(r), Retries: max(0, r.Attempt-number-1)}
		if !r.Ended.IsZero() {
			a.Took = since(r.Started, r.Ended)
		}
		if i+1 < len(runs) && runs[i+1].Token != r.Token {
			a.NextBy = runs[i+1].Replica
		}
		number = r.Attempt
		list = append(list, a)
	}
	return list
}

// granted is about when the lease of a run was granted: a token is the store's time, or a little more.
func granted(r fleet.Run) time.Time {
	at := time.UnixMicro(r.Token).UTC()
	if !r.Started.IsZero() && r.Started.Before(at) {
		return r.Started
	}
	return at
}

// Why explains the tick that e explains.
func Why(s *Snapshot, e fleet.Explanation, q TickQuery, now time.Time) WhyPage {
	p := WhyPage{TickPage: Tick(s, e, q, now), Policy: e.Policy, Remedy: e.Remedy}
	zone := zoneOf(q.Zone, p.Timezone)
	p.Asked = answers(s.Wording, e, zone)
	open := []string{wire.Undecided, wire.Future, wire.StateWaiting, wire.StateFree}
	if slices.Contains(open, e.Verdict) {
		p.Asked = append(p.Asked, s.candidates(e.Job)...)
	}
	return p
}
