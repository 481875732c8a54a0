package wire

import (
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/solotick/solotick/internal/limits"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
)

// Note is kept in a job's history beside a tick's outcome.
type Note struct {
	Started time.Time // of the last holder's first run, by fleet time, in milliseconds; zero when none started
	Ended   time.Time // of the same, which may be settled later; zero when none started
	Reason  string    // why no run was made, or why it ended: a word
	Count   int       // how many ticks it is about; 0 for one
	By      string    // who cancelled the run; empty when nobody did
	Error   string    // what the last run failed with: its first line and its last ones, 3 KiB at most

	// How often the lease was renewed, and the least time that was left to its deadline at a renewal,
	// in milliseconds; 0 when there was none.
	Renewals int
	Margin   time.Duration
	Margins  []time.Duration // at the newest renewals, oldest first
	// Retried are runs by the same holder that failed before, oldest first; the newest that there is
	// room for. Again is when the last run began, after the first of them had at Started; zero when
	// none was retried.
	Retried []Run
	Again   time.Time
	// Before is the run of the holder from which the tick was taken over; nil when nobody had it
	// before.
	Before *Run
}

type noteJSON struct {
	Started int64  `json:"started,omitempty"`
	Took    *int64 `json:"took,omitempty"` // ms from Started to Ended
	Reason  string `json:"reason,omitempty"`
	Count   int    `json:"count,omitempty"`
	By      string `json:"by,omitempty"`
	Error   string `json:"error,omitempty"` // of earlier versions; now it follows as it is, so that no escapes lengthen it

	Renewals int       `json:"renewals,omitempty"`
	Margin   int64     `json:"margin,omitempty"`  // ms
	Margins  []int64   `json:"margins,omitempty"` // ms
	Retried  []runNote `json:"retried,omitempty"`
	Again    int64     `json:"again,omitempty"` // ms from Started
	Before   *runNote  `json:"before,omitempty"`
}

// maxError bounds an error's text, in bytes. A note has room for that beside everything else: see
// [protocol.MaxNote].
const maxError = 3 << 10

// String writes n for [protocol.Grant] and [protocol.Skip]; the empty string when there is nothing
// to say.
func (n Note) String() string { return n.Within(protocol.MaxNote) }

// Within is String, in so many bytes at most: from 128 to [protocol.MaxNote].
func (n Note) Within(most int) string {
	w := noteJSON{
		Reason: n.Reason, Count: n.Count, By: n.By, Renewals: n.Renewals, Margin: n.Margin.Milliseconds(), Retried: runNotes(n.Retried),
	}
	for _, margin := range n.Margins {
		w.Margins = append(w.Margins, margin.Milliseconds())
	}
	if n.Before != nil {
		w.Before = new(noteOf(*n.Before))
	}
	if !n.Started.IsZero() {
		w.Started = n.Started.UnixMilli()
		if !n.Ended.IsZero() {
			w.Took = new(max(0, n.Ended.UnixMilli()-w.Started))
		}
		if !n.Again.IsZero() {
			w.Again = n.Again.UnixMilli() - w.Started
		}
	}
	text, _ := json.Marshal(w) //nolint:errchkjson // of strings and numbers: it cannot fail
	if len(text) > most/4 && w.Margins != nil {
		w.Margins = nil
		text, _ = json.Marshal(w) //nolint:errchkjson // as before
	}
	for len(text) > most/4 && len(w.Retried) > 0 {
		w.Retried = w.Retried[1:]
		text, _ = json.Marshal(w) //nolint:errchkjson // as before
	}
	if len(text) >= most { // where a history has little room: a line break comes before the error
		w = noteJSON{Started: w.Started, Took: w.Took, Reason: protocol.Cut(w.Reason, most/4), Count: w.Count}
		text, _ = json.Marshal(w) //nolint:errchkjson // as before
	}
	switch {
	case n.Error != "":
	case string(text) == "{}":
		return ""
	default:
		return string(text)
	}
	return string(text) + "\n" + shortError(n.Error, max(0, min(maxError, most-len(text)-1)))
}

// cutSign stands where a part of a text was left out.
const cutSign = "[...]"

// shortError cuts a text to most bytes at most. It keeps the first line, which says what failed, or
// its beginning. From the end, where a command's last output is, it keeps as many whole lines as
// fit.
func shortError(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	if most < 64 { // for a first line and a last one
		return protocol.Cut(text, most)
	}
	head, _, _ := strings.Cut(text, "\n")
	head = protocol.Cut(head, most/6) + "\n" + cutSign + "\n"
	from := len(text) - max(0, most-len(head))
	switch next := strings.Index(text[from:], "\n") + 1; {
	case text[from-1] == '\n':
	case next > 0 && from+next < len(text):
		from += next
	default: // the last line is longer than what there is room for
		for from < len(text) && !utf8.RuneStart(text[from]) {
			from++
		}
	}
	return head + text[from:]
}

// ParseNote reads what String wrote, or one of the words that stores note on their own, which it
// takes as the reason.
func ParseNote(text string) Note {
	if by, ok := protocol.CancelledBy(text); ok {
		return Note{Reason: ReasonCancelled, By: by}
	}
	var r noteJSON
	facts, failure, has := strings.Cut(text, "\n")
	if !strings.HasPrefix(text, "{") || json.Unmarshal([]byte(facts), &r) != nil {
		return Note{Reason: text}
	}
	n := Note{
		Reason: r.Reason, Count: r.Count, By: r.By, Error: r.Error, Renewals: r.Renewals, Margin: time.Duration(r.Margin) * time.Millisecond,
	}
	for _, margin := range r.Margins {
		n.Margins = append(n.Margins, time.Duration(margin)*time.Millisecond)
	}
	for _, earlier := range r.Retried {
		n.Retried = append(n.Retried, earlier.run())
	}
	if r.Before != nil {
		n.Before = new(r.Before.run())
	}
	if has {
		n.Error = failure
	}
	if r.Started != 0 {
		n.Started = time.UnixMilli(r.Started).UTC()
		if r.Took != nil {
			n.Ended = time.UnixMilli(r.Started + *r.Took).UTC()
		}
		if r.Again != 0 {
			n.Again = time.UnixMilli(r.Started + r.Again).UTC()
		}
	}
	return n
}

// outcomeOverhead is how many bytes an outcome takes in a store besides its note, at most. They are
// its id, its time, its outcome and its holder; the names have up to 64 and 128 bytes.
const outcomeOverhead = 384

// NoteLimit is how long the note of an outcome of the job may be, in bytes.
func NoteLimit(s jobs.Spec) int {
	if s.HistoryBytes == 0 {
		return protocol.MaxNote
	}
	return min(s.HistoryBytes/limits.Outcomes(s.History)-outcomeOverhead, protocol.MaxNote)
}

// HistoryLimit is how many bytes of the store the outcomes of the job take at most.
func HistoryLimit(s jobs.Spec) int {
	if s.HistoryBytes == 0 {
		return limits.Outcomes(s.History) * (protocol.MaxNote + outcomeOverhead)
	}
	return s.HistoryBytes
}

// HistoryBytes is about how many bytes of the store outcomes take.
func HistoryBytes(list []protocol.Settled) (bytes int) {
	const numbers = 96 // the id, and fields whose length varies little
	for _, s := range list {
		bytes += numbers + 2*len(s.Outcome) + len(s.Holder) + len(s.Note)
	}
	return bytes
}
