// Package notified has what an elected notifier keeps in the store: how far each receiver has come.
// Package notify writes it, and the console shows it. It holds no URL and no secret.
package notified

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/solotick/solotick/internal/protocol"
)

// Head is the value of the namespace: since when each receiver is there, and what the elected
// notifier says of itself.
type Head struct {
	Since     map[string]int64    `json:"since"` // Unix microseconds of the store's clock
	By        string              `json:"by"`
	At        int64               `json:"at"` // Unix ms of the store's clock
	Waiting   map[string]Waiting  `json:"waiting,omitempty"`
	Receivers map[string]Receiver `json:"receivers,omitempty"` // of this notifier, by name
}

// Waiting says what a receiver has not taken.
type Waiting struct {
	Jobs  int      `json:"jobs"`
	Names []string `json:"names,omitempty"` // of these jobs, the oldest: at most MaxNames
	Since int64    `json:"since"`           // Unix ms of the store's clock
	Error string   `json:"error,omitempty"`
}

// MaxNames bounds Waiting.Names.
const MaxNames = 8

// Receiver says who a receiver is, and what it gets.
type Receiver struct {
	Kind       string   `json:"kind"`
	Jobs       []string `json:"jobs,omitempty"`
	Groups     []string `json:"groups,omitempty"`
	Conditions []string `json:"conditions,omitempty"`
	Last       *Sent    `json:"last,omitempty"` // the newest that it has taken from this notifier
}

// Sent is a notification that a receiver has taken.
type Sent struct {
	Job       string `json:"job,omitempty"` // of Receiver.Last
	Condition string `json:"condition"`
	Was       string `json:"was"`
	Tick      int64  `json:"tick,omitempty"` // Unix ms; 0 for a job that never had one
	At        int64  `json:"at"`             // when it was taken, in Unix ms of the store's clock
}

// Concerns reports whether a receiver with these patterns of names and these groups gets
// notifications of a job.
func Concerns(patterns, groups []string, job string, jobGroups []string) bool {
	if len(groups) > 0 && !slices.ContainsFunc(jobGroups, func(g string) bool { return slices.Contains(groups, g) }) {
		return false
	}
	chosen := !slices.ContainsFunc(patterns, func(p string) bool { return !strings.HasPrefix(p, "!") })
	for _, pattern := range patterns {
		excluded := strings.HasPrefix(pattern, "!")
		if match, _ := path.Match(strings.TrimPrefix(pattern, "!"), job); match {
			chosen = !excluded
		}
	}
	return chosen
}

// Job is the value of a job.
type Job struct {
	Receivers map[string]Reached `json:"receivers"`
}

// Reached says how far a receiver has come with a job: what it was notified of last. The zero value
// is that of a job which was always in order.
type Reached struct {
	Outcome string `json:"outcome,omitempty"` // the condition by the outcomes; empty for ok
	Settled int64  `json:"settled,omitempty"` // when the tick of that was settled, in Unix microseconds of the store's clock
	Tick    int64  `json:"tick,omitempty"`    // its time, in Unix ms

	Overdue  *int64 `json:"overdue,omitempty"`  // the tick that the receiver knows to be overdue; nil for none
	Unserved *int64 `json:"unserved,omitempty"` // the newest settled tick of the job that it knows to be unserved; nil when it is served
	Times    int    `json:"times,omitempty"`    // notifications of states so far

	Sent []Sent `json:"sent,omitempty"` // what it has taken, newest first: at most MaxSent
}

// MaxSent bounds Reached.Sent.
const MaxSent = 5

// Encode writes the value of a job within [protocol.MaxProgress]: where that has no room, with less
// of what was sent.
func (j Job) Encode() ([]byte, error) {
	for most := MaxSent; ; most-- {
		for name, r := range j.Receivers {
			r.Sent = r.Sent[:min(len(r.Sent), most)]
			j.Receivers[name] = r
		}
		if data, err := json.Marshal(j); err != nil || len(data) <= protocol.MaxProgress || most == 0 {
			return data, err
		}
	}
}

// Encode writes the value of the namespace within [protocol.MaxProgress]: where that has no room,
// without what only people read.
func (h Head) Encode() ([]byte, error) {
	data, err := json.Marshal(h)
	if err == nil && len(data) > protocol.MaxProgress {
		data, err = json.Marshal(Head{Since: h.Since, By: h.By, At: h.At, Waiting: h.Waiting})
	}
	return data, err
}

// ReadHead reads the value of the namespace.
func ReadHead(ctx context.Context, k protocol.Store) (h Head, version protocol.ProgressVersion, err error) {
	list, err := k.Progress(ctx, []string{""})
	if err != nil {
		return h, version, err
	}
	if len(list[0].Data) > 0 {
		if err := json.Unmarshal(list[0].Data, &h); err != nil {
			return h, version, fmt.Errorf("the progress of notifications: %w", err)
		}
	}
	return h, list[0].Version, nil
}

// ReadJob reads the value of a job. One that cannot be understood is none.
func ReadJob(ctx context.Context, k protocol.Store, name string) (j Job, err error) {
	list, err := k.Progress(ctx, []string{name})
	if err != nil {
		return j, err
	}
	_ = json.Unmarshal(list[0].Data, &j)
	return j, nil
}
