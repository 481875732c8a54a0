package view

import "time"

// LocksQuery asks for a [LocksPage].
type LocksQuery struct {
	Search string `json:"q"`
	Limit  int    `json:"limit"`
	After  string `json:"after"` // the name of the last lock of the page before
	Zone   string `json:"zone"`
}

// LocksPage shows the locks that are held or waited for.
type LocksPage struct {
	Head
	Query       LocksQuery `json:"query"`
	Unsupported bool       `json:"unsupported"` // the store grants no locks
	Total       int        `json:"total"`
	Cut         bool       `json:"cut"` // there are more locks than were read
	Matching    int        `json:"matching"`
	Locks       []LockRow  `json:"locks"` // by name
	Next        string     `json:"next"`
}

// LockRow is a lock.
type LockRow struct {
	Name    string      `json:"name"`
	Token   int64       `json:"token"` // of the last grant
	Held    int         `json:"held"`  // permits
	Holds   []HoldRow   `json:"holds"` // oldest grant first
	Waiters int         `json:"waiters"`
	Queue   []WaiterRow `json:"queue"` // the first of them, in order
	Longest Millis      `json:"longest_wait_ms"`
}

// HoldRow is a grant of a lock.
type HoldRow struct {
	Holder    string `json:"holder"`
	Token     int64  `json:"token"`
	Permits   int    `json:"permits"`
	Since     Time   `json:"since"`
	For       Millis `json:"for_ms"`
	Remaining Millis `json:"remaining_ms"` // of its lease when it was read, unless it is renewed
	Expired   bool   `json:"expired"`      // its lease has run out: the next claim gets its permits
}

// WaiterRow is one who waits for a lock.
type WaiterRow struct {
	Holder  string `json:"holder"`
	Permits int    `json:"permits"`
	Since   Time   `json:"since"`
	Waits   Millis `json:"waits_ms"`
}

// Locks shows the locks of a snapshot that q chooses.
func Locks(s *Snapshot, q LocksQuery, now time.Time) LocksPage {
	return LocksPage{Head: s.head(now), Query: q}
}
