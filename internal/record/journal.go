package record

import (
	"bytes"
	"slices"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// Journal is a name's notes for people, oldest first. It is plain data, as a [Record] is, and kept
// apart from that.
type Journal []protocol.JournalEntry

// Append answers a valid call, for a journal that keeps most notes.
func (j *Journal) Append(request string, text []byte, most int, now time.Time) {
	if slices.ContainsFunc(*j, func(n protocol.JournalEntry) bool { return n.Request == request }) {
		return
	}
	*j = append(*j, protocol.JournalEntry{At: now.UTC().Truncate(time.Microsecond), Request: request, Text: bytes.Clone(text)})
	*j = (*j)[max(0, len(*j)-most):]
}

// Notes returns the newest n notes, newest first; all when n is below 1.
func (j *Journal) Notes(n int) []protocol.JournalEntry {
	list := slices.Clone(*j)
	slices.Reverse(list)
	if n >= 1 && n < len(list) {
		list = list[:n]
	}
	return list
}
