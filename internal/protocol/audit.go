package protocol

import (
	"context"
	"errors"
	"fmt"
)

// AuditLog is a [Store] that keeps the acts of people on its namespace. It is one list for all
// names, which outlives the records and journals that it is about. No decision depends on it.
//
// The list has a budget in bytes. When it is used up, the oldest entries are removed.
type AuditLog interface {
	// AppendAudit adds an entry, with the store's time. The same request again (after a lost reply)
	// changes nothing while its entry is among the newest. The request matches the pattern of a
	// name.
	AppendAudit(ctx context.Context, request string, text []byte) error

	// Audit returns n entries, or what there is, newest first: n from 1 to MaxAuditPage. The cursor
	// is "" at first, and then the Next of the page before. Entries that come meanwhile do not move
	// those of later pages.
	Audit(ctx context.Context, cursor string, n int) (AuditPage, error)

	// SetAuditBudget sets the budget of the namespace, in bytes, from MinAuditBudget to
	// MaxAuditBudget, for all who append. A smaller one than before removes the oldest entries at
	// once.
	SetAuditBudget(ctx context.Context, bytes int) error
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
