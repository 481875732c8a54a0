package wire

import (
	"strings"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// Run is a run of a tick that a [Note] keeps, besides the last one. Replica and Token are empty of
// those by the holder who settles the tick.
type Run struct {
	Attempt        int
	Replica        string
	Token          int64
	Started, Ended time.Time // in milliseconds; of a run that its replica did not report, of its lease
	End            string    // one of the values below
	Error          string    // the beginning of its first line
}

// How a run ended that was not the last of its tick.
const (
	RunRetried  = "retried"
	RunReleased = "released"
	RunExpired  = "expired"
)

// MaxRetried is how many runs that were retried a history keeps of a tick, at most: the newest
// ones.
const MaxRetried = 8

// maxRunError bounds the error of a run, in bytes.
const maxRunError = 100

// runNote is a run as it is written. Those of the one who settles the tick have neither replica nor
// token.
type runNote struct {
	Attempt int    `json:"n"`
	Started int64  `json:"at,omitempty"` // Unix ms
	Took    int64  `json:"took,omitempty"`
	Error   string `json:"error,omitempty"`
	Replica string `json:"by,omitempty"`
	Token   int64  `json:"token,omitempty"`
	End     string `json:"end,omitempty"` // RunRetried when it is empty
}

func noteOf(r Run) runNote {
	w := runNote{
		Attempt: r.Attempt, Started: UnixMilli(r.Started), Error: RunError(r.Error),
		Replica: r.Replica, Token: r.Token, End: r.End,
	}
	if !r.Started.IsZero() && !r.Ended.IsZero() {
		w.Took = max(0, UnixMilli(r.Ended)-w.Started)
	}
	if w.End == RunRetried {
		w.End = ""
	}
	return w
}

// RunError is the beginning of the first line of an error.
func RunError(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return protocol.Cut(strings.ToValidUTF8(first, "\uFFFD"), maxRunError)
}

func runNotes(list []Run) (notes []runNote) {
	for _, r := range list[max(0, len(list)-MaxRetried):] {
		notes = append(notes, noteOf(r))
	}
	return notes
}

func (w runNote) run() Run {
	r := Run{
		Attempt: w.Attempt, Replica: w.Replica, Token: w.Token, Started: FromMilli(w.Started), End: w.End, Error: w.Error,
	}
	if r.Ended = r.Started.Add(time.Duration(w.Took) * time.Millisecond); r.Started.IsZero() {
		r.Ended = time.Time{}
	}
	if r.End == "" {
		r.End = RunRetried
	}
	return r
}

// UnixMilli is t in Unix ms, and 0 for the zero time.
func UnixMilli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// FromMilli is what UnixMilli was made of, in UTC.
func FromMilli(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
