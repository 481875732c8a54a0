package view

import (
	"maps"
	"slices"
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/notified"
	"github.com/solotick/solotick/internal/wire"
)

// Notifications says who is notified when the condition of a job changes, as the elected notifier
// has written it to the store.
type Notifications struct {
	By        string     `json:"by"`        // the replica that notifies; "" when nobody ever has
	At        time.Time  `json:"at"`        // when it said so
	Silent    bool       `json:"silent"`    // it has said nothing for minutes: nobody notifies
	Receivers []Receiver `json:"receivers"` // by their names
}

// Receiver is who gets notifications.
type Receiver struct {
	Name         string    `json:"name"`
	Kind         string    `json:"kind"`
	Jobs         []string  `json:"jobs"`       // patterns of the jobs that it is for; none for all
	Groups       []string  `json:"groups"`     // none for all
	Conditions   []string  `json:"conditions"` // none for all
	Since        time.Time `json:"since"`      // since when it is known
	Last         *Delivery `json:"last"`       // the newest that it has taken; null when it has taken none
	Waiting      int       `json:"waiting"`    // jobs with a notification that it has not taken
	WaitingJobs  []string  `json:"waiting_jobs"`
	WaitingSince time.Time `json:"waiting_since"`
	Error        string    `json:"error"` // why the last try failed; no more of a URL than the host
}

// Delivery is a notification that a receiver has taken.
type Delivery struct {
	Job       string    `json:"job"`
	Condition string    `json:"condition"`
	Was       string    `json:"was"`
	Tick      time.Time `json:"tick"` // none for a job that never had one
	At        time.Time `json:"at"`   // when it was taken
}

// JobNotifications says who was notified of a job.
type JobNotifications struct {
	Condition string        `json:"condition"` // ok, failed, lost, missed, overdue or unserved; "" when nothing is known
	Receivers []JobReceiver `json:"receivers"` // that are for the job, by their names
}

// JobReceiver is what a receiver knows of a job.
type JobReceiver struct {
	Name         string     `json:"name"`
	Kind         string     `json:"kind"`
	Knows        []string   `json:"knows"`         // the conditions that it was notified of last; ok where there is nothing wrong
	Sent         []Delivery `json:"sent"`          // what it has taken, the newest first
	Waits        bool       `json:"waits"`         // it has not taken a notification of the job
	WaitingSince time.Time  `json:"waiting_since"` // the oldest of all that it has not taken
	Error        string     `json:"error"`
}

// silentAfter is after how long an elected notifier that says nothing counts as gone: it reports
// every half minute.
const silentAfter = 2 * time.Minute

// notificationsOf makes the part of a page that says who is notified.
func notificationsOf(h notified.Head, now time.Time) *Notifications {
	n := &Notifications{By: h.By, At: wire.FromMilli(h.At), Receivers: []Receiver{}}
	n.Silent = h.By != "" && now.Sub(n.At) > silentAfter
	for _, name := range slices.Sorted(maps.Keys(h.Receivers)) {
		r, waiting := h.Receivers[name], h.Waiting[name]
		row := Receiver{
			Name: name, Kind: r.Kind, Jobs: r.Jobs, Groups: r.Groups,
			Conditions: r.Conditions, Since: wire.FromMilli(h.Since[name] / 1000),
			Waiting: waiting.Jobs, WaitingJobs: waiting.Names, WaitingSince: wire.FromMilli(waiting.Since), Error: waiting.Error,
		}
		if r.Last != nil {
			row.Last = new(deliveries([]notified.Sent{*r.Last}, r.Last.Job)[0])
		}
		n.Receivers = append(n.Receivers, row)
	}
	return n
}

func deliveries(sent []notified.Sent, job string) []Delivery {
	list := []Delivery{}
	for _, s := range sent {
		list = append(list, Delivery{job, s.Condition, s.Was, wire.FromMilli(s.Tick), wire.FromMilli(s.At)})
	}
	return list
}

// notified makes the part of a job's page that says who was notified of it.
func (p *JobPage) notified(h *notified.Head, progress notified.Job, outcomes []fleet.Entry) *JobNotifications {
	if h == nil {
		return nil
	}
	n := &JobNotifications{Condition: p.condition(outcomes), Receivers: []JobReceiver{}}
	for _, name := range slices.Sorted(maps.Keys(h.Receivers)) {
		r := h.Receivers[name]
		if !notified.Concerns(r.Jobs, r.Groups, p.Job, p.Groups) {
			continue
		}
		reached := progress.Receivers[name]
		row := JobReceiver{Name: name, Kind: r.Kind, Knows: knows(r.Conditions, reached), Sent: deliveries(reached.Sent, p.Job)}
		if waiting := h.Waiting[name]; slices.Contains(waiting.Names, p.Job) {
			row.Waits, row.WaitingSince, row.Error = true, wire.FromMilli(waiting.Since), waiting.Error
		}
		n.Receivers = append(n.Receivers, row)
	}
	return n
}

// condition is the health of the job now, in the words of notifications.
func (p *JobPage) condition(outcomes []fleet.Entry) string {
	switch {
	case p.Unserved:
		return "unserved"
	case !p.Overdue.IsZero():
		return "overdue"
	}
	for _, e := range outcomes { // newest first
		if e.Outcome == wire.Succeeded {
			return "ok"
		}
		wrong := e.Outcome == wire.Failed || e.Outcome == wire.Missed || e.Outcome == wire.Lost
		if wrong && e.Reason != wire.ReasonEdited && e.Reason != wire.ReasonPast {
			return string(e.Outcome)
		}
	}
	return ""
}

// knows returns the conditions that a receiver was notified of last, of those that it takes: what
// concerns the others is noted, and not sent.
func knows(takes []string, r notified.Reached) []string {
	var list []string
	note := func(is bool, condition string) {
		if is && (len(takes) == 0 || slices.Contains(takes, condition)) {
			list = append(list, condition)
		}
	}
	note(r.Unserved != nil, "unserved")
	note(r.Overdue != nil, "overdue")
	note(r.Outcome != "" && r.Outcome != "ok", r.Outcome)
	if list == nil {
		return []string{"ok"}
	}
	return list
}
