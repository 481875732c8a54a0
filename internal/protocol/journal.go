package protocol

import (
	"errors"
	"fmt"
	"time"
)

const (
	// MaxNotes is how many notes a journal keeps at most.
	MaxNotes = 128
	// MaxNoteText is the greatest length of a note in a journal, in bytes. A longer one is refused.
	MaxNoteText = 4096
)

// JournalEntry is a note in a journal.
type JournalEntry struct {
	At      time.Time // when it was written, by the store's clock, in microseconds
	Request string
	Text    []byte
}

// CheckNote returns every fault of what Append is given, joined; nil when there is none.
func CheckNote(name, request string, text []byte) error {
	f := faults{of: "note"}
	f.check(name == "" || ValidName(name), "name", name, NameRule+", or be empty")
	f.check(ValidName(request), "request", request, NameRule)
	if len(text) > MaxNoteText {
		f.all = append(f.all, fmt.Errorf("lease: note text: has %d bytes, must have at most %d", len(text), MaxNoteText))
	}
	return errors.Join(f.all...)
}
