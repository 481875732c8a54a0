package wire

import (
	"github.com/solotick/solotick/internal/limits"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
)

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
