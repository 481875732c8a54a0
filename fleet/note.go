package fleet

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/solotick/solotick/lease"
)

// Note is what is kept in a job's history beside a tick's outcome.
type Note struct {
	Started time.Time // of the last run, by fleet time, in milliseconds; zero when none started
	Ended   time.Time // of the same, which may be settled later; zero when none started
	Reason  string    // why no run was made, or why it ended: a word
	Count   int       // of how many ticks it tells; 0 for one
	By      string    // who cancelled the run; empty when nobody did
	Error   string    // what the last run failed with, cut to a few hundred bytes
}

type noteJSON struct {
	Started int64  `json:"started,omitempty"`
	Took    *int64 `json:"took,omitempty"` // ms from Started to Ended
	Reason  string `json:"reason,omitempty"`
	Count   int    `json:"count,omitempty"`
	By      string `json:"by,omitempty"`
	Error   string `json:"error,omitempty"`
}

// maxError bounds an error's text, so that with everything else the note stays below [lease.MaxNote], escapes included.
const maxError = 480

// String writes n for [lease.Grant] and [lease.Pass]; the empty string when there is nothing to say.
func (n Note) String() string {
	if n == (Note{}) {
		return ""
	}
	w := noteJSON{Reason: n.Reason, Count: n.Count, By: n.By, Error: n.Error}
	if !n.Started.IsZero() {
		w.Started = n.Started.UnixMilli()
		if !n.Ended.IsZero() {
			w.Took = new(max(0, n.Ended.UnixMilli()-w.Started))
		}
	}
	for most := maxError; ; most /= 2 {
		w.Error = lease.Cut(n.Error, most)
		text, _ := json.Marshal(w) //nolint:errchkjson // of strings and numbers: it cannot fail
		if len(text) <= lease.MaxNote || most == 0 {
			return string(text)
		}
	}
}

// ParseNote reads what String wrote, or one of the words that stores note on their own, which it takes as the reason.
func ParseNote(text string) Note {
	if by, ok := lease.CancelledBy(text); ok {
		return Note{Reason: reasonCancelled, By: by}
	}
	var r noteJSON
	if !strings.HasPrefix(text, "{") || json.Unmarshal([]byte(text), &r) != nil {
		return Note{Reason: text}
	}
	n := Note{Reason: r.Reason, Count: r.Count, By: r.By, Error: r.Error}
	if r.Started != 0 {
		n.Started = time.UnixMilli(r.Started).UTC()
		if r.Took != nil {
			n.Ended = time.UnixMilli(r.Started + *r.Took).UTC()
		}
	}
	return n
}
