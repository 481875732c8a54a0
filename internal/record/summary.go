package record

import (
	"fmt"
	"slices"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// SummarySize is how many bytes of a value's beginning are enough for its summary, most often.
const SummarySize = 136

// unread is a number of a settlement that was not read.
const unread = -1

// Summarize returns the summary of the record whose value begins with head: see [State] for stamp
// and ends. complete is false when that is too short for it; then it has to be called with all of
// the value.
func Summarize(
	name string, head []byte, stamp int64, ends func(token int64) time.Time, at *Moment,
) (s protocol.Summary, complete bool, err error) {
	r, d := new(Record), &reader{b: head, stamp: stamp}
	if len(head) > 0 && head[0] != recordFormat {
		return s, false, fmt.Errorf("%w: %s: %w", protocol.ErrRecord, name, errFormat)
	}
	if r.decodeHead(d, name, ends); d.failed() {
		return s, false, nil
	}
	for i := range slices.Backward(r.Settled) {
		read := r.Settled[i]
		if d.settlement(&read); d.failed() {
			break
		}
		r.Settled[i] = read
	}
	s = protocol.Summarize(r.View(name, at))
	return s, !slices.ContainsFunc(s.Settled, func(s protocol.Settled) bool { return s.Attempt == unread }), nil
}
