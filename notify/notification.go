package notify

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

// Condition is the health of a job.
type Condition string

// The conditions of a job.
const (
	OK       Condition = "ok"       // it succeeded again, or is not overdue or unserved any more: see Notification.Was
	Failed   Condition = "failed"   // the last attempt of a tick failed
	Lost     Condition = "lost"     // the leases of a tick ran out too often
	Missed   Condition = "missed"   // a tick was not run in time
	Overdue  Condition = "overdue"  // a tick should have begun, and neither runs nor is settled
	Unserved Condition = "unserved" // no live replica serves the job
)

// Conditions are all conditions.
var Conditions = []Condition{OK, Failed, Lost, Missed, Overdue, Unserved}

// Notification says that the condition of a job has changed. It is the value of templates. Times
// are fleet time.
type Notification struct {
	// ID is the same for each time that it is sent, by any replica; 32 hexadecimal digits.
	ID string `json:"id"`
	// Incident is the same for a condition of the job and the OK that ends it, whatever the tick; 32
	// hexadecimal digits.
	Incident  string    `json:"incident"`
	Namespace string    `json:"namespace"`
	Job       string    `json:"job"`
	Condition Condition `json:"condition"`
	Was       Condition `json:"was"` // the condition before; of OK the one that has ended, of others OK or another outcome

	Tick   time.Time `json:"tick"`    // that caused it; zero for a job that never had one
	TickID string    `json:"tick_id"` // as jobs.Run.TickID; empty without a tick
	At     time.Time `json:"at"`      // when the tick was settled, or the state was found
	Ticks  int       `json:"ticks"`   // settled since the notification before, this one included; 0 for Overdue and Unserved
	// Omitted is how many changes before this one are left out, because the receiver was away for too
	// long.
	Omitted int `json:"omitted"`

	// Of a tick that was settled.
	Replica  string    `json:"replica"`
	Attempts int       `json:"attempts"`
	Started  time.Time `json:"started"`
	Ended    time.Time `json:"ended"`
	Reason   string    `json:"reason"` // as in docs/policies.md
	Error    string    `json:"error"`  // the last lines of it, at most 1 KiB

	Test bool `json:"test"` // somebody tries the receiver: nothing has happened
}

// maxError bounds the error of a notification, in bytes.
const maxError = 1 << 10

// Title says in a few words what happened, on one line.
func (n Notification) Title() string {
	title := n.Job + " "
	switch n.Condition {
	case Failed, OK:
		title += map[Condition]string{Failed: "failed", OK: "is ok again"}[n.Condition]
		if n.Condition == OK && (n.Was == Overdue || n.Was == Unserved) {
			title = fmt.Sprintf("%s is not %s any more", n.Job, n.Was)
		}
	case Lost, Missed:
		title += "has a tick that was " + string(n.Condition)
	default:
		title += "is " + string(n.Condition)
	}
	if n.Test {
		return "test: " + title
	}
	return title
}

// Text says what happened, in one to three lines of plain text without control characters.
func (n Notification) Text() string {
	facts := []string{"namespace " + n.Namespace}
	if !n.Tick.IsZero() {
		facts = append(facts, "tick "+n.Tick.UTC().Format(time.RFC3339))
	}
	if n.Replica != "" {
		facts = append(facts, "on "+n.Replica)
	}
	if n.Attempts > 1 {
		facts = append(facts, fmt.Sprintf("attempt %d", n.Attempts))
	}
	if n.Reason != "" {
		facts = append(facts, "because of "+wire.Words(n.Reason))
	}
	if n.Omitted > 0 {
		facts = append(facts, fmt.Sprintf("%d earlier changes are left out", n.Omitted))
	}
	text := n.Title() + "\n" + strings.Join(facts, ", ")
	if n.Error != "" {
		text += "\n" + n.Error
	}
	lines := strings.SplitN(text, "\n", 3)
	for i, line := range lines {
		lines[i] = oneLine(line)
	}
	return strings.Join(lines, "\n")
}

// oneLine replaces control characters and invalid UTF-8.
func oneLine(text string) string {
	return strings.TrimSpace(strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || c == '\u2028' || c == '\u2029' {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(text, "\uFFFD")))
}

// MarshalJSON implements [json.Marshaler]: times are RFC 3339 in UTC with milliseconds, null where
// there is none. There is also a text.
func (n Notification) MarshalJSON() ([]byte, error) {
	stamp := func(t time.Time) *string {
		if t.IsZero() {
			return nil
		}
		text := t.UTC().Format("2006-01-02T15:04:05.000Z")
		return &text
	}
	type plain Notification
	return json.Marshal(struct {
		plain
		Tick    *string `json:"tick"`
		At      *string `json:"at"`
		Started *string `json:"started"`
		Ended   *string `json:"ended"`
		Text    string  `json:"text"`
	}{plain(n), stamp(n.Tick), stamp(n.At), stamp(n.Started), stamp(n.Ended), n.Text()})
}

// identify fills in what identifies n. times is how often the job's state was notified of before: a
// state can come again without another tick.
func (n Notification) identify(times int) Notification {
	if !n.Tick.IsZero() {
		n.TickID = jobs.Run{Namespace: n.Namespace, Job: n.Job, Tick: n.Tick}.TickID()
	}
	track := Failed // the outcomes are one incident
	if state := cmp.Or(n.stateOf(n.Condition), n.stateOf(n.Was)); state != "" {
		track = state
	}
	if track == Failed && !n.Tick.IsZero() {
		times = 0 // a tick is settled once
	}
	n.Incident = digest(n.Namespace, n.Job, string(track))
	n.ID = digest(n.Namespace, n.Job, string(track), string(n.Condition), fmt.Sprint(n.Tick.UnixMilli()), fmt.Sprint(times))
	return n
}

// stateOf returns c when it is a state, and otherwise none.
func (Notification) stateOf(c Condition) Condition {
	if c == Overdue || c == Unserved {
		return c
	}
	return ""
}

// digest is the same for the same parts. No part has a colon.
func digest(parts ...string) string {
	sum := sha256.Sum256([]byte("solotick:" + strings.Join(parts, ":")))
	return hex.EncodeToString(sum[:16])
}

// settled is the notification of a tick.
func settled(namespace string, e fleet.Entry, condition, was Condition, ticks int) Notification {
	tail := e.Error
	if len(tail) > maxError {
		tail = strings.ToValidUTF8(tail[len(tail)-maxError:], "")
	}
	return Notification{
		Namespace: namespace, Job: e.Job, Condition: condition, Was: was, Tick: e.Scheduled, At: e.SettledAt, Ticks: ticks,
		Replica: e.Replica, Attempts: e.Attempts, Started: e.Started, Ended: e.Ended, Reason: e.Reason, Error: tail,
	}.identify(0)
}
