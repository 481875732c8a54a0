package wire

import (
	"strings"
	"time"

	"github.com/solotick/solotick/jobs"
)

// FailingRun says that attempts of a run have failed, and that its replica makes another: it waits
// for that, or has begun it lately.
type FailingRun struct {
	Job      string    `json:"-"`
	Token    int64     `json:"-"`        // of the run's lease
	Attempt  int       `json:"attempt"`  // the last that failed
	Failures int       `json:"failures"` // how many failed, one after the other
	Since    time.Time `json:"since"`    // when the first of them did, by fleet time
	Error    string    `json:"error"`    // of the last one, on one line: see FailingError
	Next     time.Time `json:"next"`     // when the next attempt begins
}

// maxFailing bounds the error of a FailingRun, in bytes.
const maxFailing = 240

// FailingError is an error on one line: its beginning, and its end, where a command's last output
// is.
func FailingError(text string) string {
	return strings.Join(strings.Fields(shortError(text, maxFailing)), " ")
}

// leastWait is the least wait before a leader task is started again, whatever its policy says.
const leastWait = 100 * time.Millisecond

// Waits returns the least and the greatest wait before a leader task is started again.
func Waits(policy jobs.Retry) (least, most time.Duration) {
	return max(policy.Backoff, leastWait), max(policy.MaxBackoff, leastWait)
}

// doesWell is the least value of DoesWell: a task that ends every few minutes fails all the time.
const doesWell = 5 * time.Minute

// DoesWell is how long an attempt has to run until those before it that failed do not count any
// more: two of the longest waits, and 5 min at least.
func DoesWell(policy jobs.Retry) time.Duration {
	_, most := Waits(policy)
	return max(2*most, doesWell)
}
