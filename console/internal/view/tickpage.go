package view

import (
	"time"

	"github.com/solotick/solotick/fleet"
)

// TickQuery asks for a [TickPage] or a [WhyPage].
type TickQuery struct {
	Job  string `json:"job"`
	Tick Time   `json:"tick"` // none for the one that fleet.Why chooses
	Zone string `json:"zone"`
}

// TickPage shows what became of a tick, by its attempts.
type TickPage struct {
	Head
	Query    TickQuery     `json:"query"`
	Job      string        `json:"job"`
	Tick     Time          `json:"tick"`
	ID       string        `json:"id"`
	Timezone string        `json:"timezone"`
	Verdict  fleet.Verdict `json:"verdict"`
	Text     string        `json:"text"`  // what became of it, in words
	Entry    *fleet.Entry  `json:"entry"` // null when the store has nothing of it
	Lateness Millis        `json:"late_ms"`
	Attempts []Attempt     `json:"attempts"` // first to last
	Output   []string      `json:"output"`   // the last lines of what the last run failed with
	Events   []Event       `json:"events"`   // about it, or about its time, newest first
	Earlier  Time          `json:"earlier"`  // the tick of the schedule before it; none where it is not known
	Later    Time          `json:"later"`
}

// Attempt is what one holder did with a tick.
type Attempt struct {
	Number   int    `json:"attempt"` // its last run's number, from 1
	Replica  string `json:"replica"`
	Token    int64  `json:"token"`
	Granted  Time   `json:"granted"`
	Started  Time   `json:"started"` // none where it is not known
	Ended    Time   `json:"ended"`   // none while it runs
	Took     Millis `json:"took_ms"`
	End      string `json:"end"`       // an outcome, "running", "released", or "expired" when its lease ran out
	Retries  int    `json:"retries"`   // by the same holder, after its first run
	NextBy   string `json:"next_by"`   // who took it over
	Margin   Millis `json:"margin_ms"` // the least that was left of the lease at a renewal; 0 when it is not known
	Renewals int    `json:"renewals"`
	Error    string `json:"error"`
}

// WhyPage explains what became of a tick: who asked, what each was answered, which policy decided, and what would
// have made it run.
type WhyPage struct {
	TickPage
	Asked  []Asked `json:"asked"`
	Policy string  `json:"policy"` // such as "overlap: forbid"; "" when none decided
	Remedy string  `json:"remedy"` // what would have made it run; "" when it ran
}

// Asked is somebody who asked for a tick, or could, and the answer.
type Asked struct {
	By     string `json:"by"`
	At     Time   `json:"at"`     // none when it did not ask
	Answer string `json:"answer"` // a word, such as granted, taken_over, skipped, serves_not, no_room or stopping
	Text   string `json:"text"`
}

// Tick shows the tick that e explains.
func Tick(s *Snapshot, e fleet.Explanation, q TickQuery, now time.Time) TickPage {
	return TickPage{Head: s.head(now), Query: q, Job: e.Job, Tick: Time{e.Tick}, ID: e.ID, Verdict: e.Verdict, Text: e.Text, Entry: e.Entry}
}

// Why explains the tick that e explains.
func Why(s *Snapshot, e fleet.Explanation, q TickQuery, now time.Time) WhyPage {
	return WhyPage{TickPage: Tick(s, e, q, now)}
}
