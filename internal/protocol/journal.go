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

// The limits of an [AuditLog], in bytes, and of its pages, in entries.
const (
	MinAuditBudget     = 128 << 10
	DefaultAuditBudget = 4 << 20
	MaxAuditBudget     = 64 << 20
	MaxAuditPage       = 1000
)

// AuditPage is a part of an audit log.
type AuditPage struct {
	Entries []JournalEntry // newest first
	Next    string         // the cursor of older entries; "" when there are none
	Used    int            // bytes that the whole list takes: its texts, and for each entry its request and EntryOverhead
	Budget  int            // bytes that it may take
}

// EntryOverhead is how many bytes an entry of a list counts besides its request and its text.
const EntryOverhead = 32

// CheckAuditBudget returns an error unless the budget is within its limits.
func CheckAuditBudget(bytes int) error {
	if bytes < MinAuditBudget || bytes > MaxAuditBudget {
		return fmt.Errorf("lease: audit budget: %d bytes must be from %d to %d", bytes, MinAuditBudget, MaxAuditBudget)
	}
	return nil
}

// CheckAuditPage returns an error unless a page may have so many entries.
func CheckAuditPage(n int) error {
	if n < 1 || n > MaxAuditPage {
		return fmt.Errorf("lease: audit page: %d entries must be from 1 to %d", n, MaxAuditPage)
	}
	return nil
}

// ErrCursor is returned for a cursor that is none of [AuditPage].Next.
var ErrCursor = errors.New("lease: the cursor is none that an audit log has returned")
