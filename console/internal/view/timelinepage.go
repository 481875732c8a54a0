package view

import "time"

// TimelineQuery asks for a [TimelinePage].
type TimelineQuery struct {
	JobFilter
	From  time.Time     `json:"from"` // where the page begins; none for a page that follows the time, with now at four fifths
	Span  time.Duration `json:"span_ms"`
	Limit int           `json:"limit"` // rows, from 1 to 200
	After string        `json:"after"`
	// Before is for the page before.
	Before string `json:"before"`
	Cells  int    `json:"cells"` // of a row, from 12 to 1000: ticks that are closer together are shown as one
	Zone   string `json:"zone"`
}

// The range of a timeline's length.
const (
	MinTimeline     = time.Hour
	DefaultTimeline = 6 * time.Hour
	MaxTimeline     = 31 * day
)

func (q *TimelineQuery) bind(p *Parameters) {
	q.JobFilter.Bind(p)
	p.Time("from", &q.From)
	p.duration("span", &q.Span, MinTimeline, MaxTimeline, DefaultTimeline)
	p.Number("limit", &q.Limit, 1, 200, 50)
	p.cursors(&q.After, &q.Before, (&JobsQuery{Sort: SortName}).cursorRule)
	p.Number("cells", &q.Cells, 12, 1000, 240)
	p.Zone(&q.Zone)
}

// TimelinePage shows jobs and time: ticks that ran, ticks that did not, and those to come.
type TimelinePage struct {
	Head
	Query        TimelineQuery `json:"query"`
	From         time.Time     `json:"from"`
	To           time.Time     `json:"to"`
	Cell         time.Duration `json:"cell_ms"` // the length of a cell
	Total        int           `json:"total"`
	Matching     int           `json:"matching"`
	Rows         []TimelineRow `json:"rows"`
	ClockChanges []ZoneChange  `json:"clock_changes"` // of the zones of these rows, in order
	Next         string        `json:"next"`
	Previous     string        `json:"previous"`
}

// ZoneChange is a change of a zone's clock.
type ZoneChange struct {
	At       time.Time     `json:"at"`
	Timezone string        `json:"timezone"`
	Shift    time.Duration `json:"shift_ms"` // above 0 when the clock goes forward
}

// TimelineRow is a job on the timeline.
type TimelineRow struct {
	Job           string    `json:"job"`
	ScheduleWords string    `json:"schedule_words"`
	Timezone      string    `json:"timezone"`
	States        []State   `json:"states"`
	Kept          time.Time `json:"kept_since"` // nothing is known of the schedule's ticks before it; none when the store has no record
	Cut           bool      `json:"cut"`        // its schedule has more ticks than were looked at: later ones are not shown
	Pauses        []Span    `json:"pauses"`     // in which it was paused, within the page
	Items         []Item    `json:"items"`      // by their begin
	Unread        string    `json:"unread"`     // why its history could not be read; "" when it was
}

// Span is a time from one instant to another.
type Span struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"` // none while it lasts
	By   string    `json:"by"`
	Why  string    `json:"why"`
}

// ItemKind says what an [Item] shows.
type ItemKind string

// The kinds of items.
const (
	ItemRun     ItemKind = "run"     // a bar, from start to end: its Outcome is of a run, "running" or "retrying"
	ItemNone    ItemKind = "none"    // settled without a run: Outcome is skipped, missed, lost …
	ItemWaiting ItemKind = "waiting" // open, and nobody runs it: it waits, or is free for a takeover
	ItemGap     ItemKind = "gap"     // due by the schedule, and the store has nothing of it
	ItemComing  ItemKind = "coming"  // due later
	ItemDense   ItemKind = "dense"   // several that are too close together to be shown apart
)

// Item is something on a row of the timeline.
type Item struct {
	Kind     ItemKind  `json:"kind"`
	From     time.Time `json:"from"` // where it is drawn from
	To       time.Time `json:"to"`   // and to; equal to From for events without a length
	Tick     time.Time `json:"tick"` // to open why with; of several, the first of the worst
	Outcome  string    `json:"outcome"`
	Reason   string    `json:"reason"`
	Replica  string    `json:"replica"`
	Attempts int       `json:"attempts"`
	// TakenOver are the instants at which another replica took the tick over.
	TakenOver []time.Time    `json:"taken_over"`
	Triggered bool           `json:"triggered"`
	Count     int            `json:"count"`  // ticks that it stands for; 0 for many that are not counted
	Counts    map[string]int `json:"counts"` // of a dense one: by kind, and of those settled by outcome
}
