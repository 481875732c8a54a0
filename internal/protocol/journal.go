package protocol

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Journal is a [Store] that keeps notes for people, apart from the records: acts of people about a
// name, and observations. No decision about a tick depends on one: while a note cannot be written,
// the fleet goes on without it.
//
// Each name has a journal of its own, and the namespace has one too, that of the empty name. A
// journal keeps its newest notes: [MaxNotes] at most, and at least a quarter of that.
type Journal interface {
	// Append adds a note, with the store's time. The same request again (after a lost reply) changes
	// nothing while its note is kept, whatever the text. The request matches the pattern of a name.
	Append(ctx context.Context, name, request string, text []byte) error
	// Notes returns the newest n notes of a name, newest first; all that are kept when n is below 1.
	Notes(ctx context.Context, name string, n int) ([]JournalEntry, error)
}

const (
	// MaxNotes is how many notes a journal keeps at most.
	MaxNotes = 128
	// MaxNoteText is the greatest length of a note in a journal, in bytes. A longer one is refused.
	MaxNoteText = 4096
)

// JournalEntry is a note in a [Journal].
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
