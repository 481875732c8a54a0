package quorum

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/solotick/solotick/lease/protocol"
	"github.com/solotick/solotick/lease/record"
)

// journalNotes is how many notes a journal keeps: every change sends all of them to every node.
const journalNotes = protocol.MaxNotes / 4

// journalKind is that of the values by which registers keep journals.
var journalKind = kind[record.Journal]{
	read: func(at reading) (*record.Journal, error) {
		j := new(record.Journal)
		if at.value == "" {
			return j, nil
		}
		if err := json.Unmarshal([]byte(at.value), j); err != nil {
			return nil, fmt.Errorf("%w: a journal: %w", errReply, err)
		}
		return j, nil
	},
	write: func(j *record.Journal) (string, error) {
		text, err := json.Marshal(j)
		return string(text), err
	},
	keep: func(*record.Journal) time.Duration { return keepRecord },
}

// Append implements [protocol.Journal].
func (s *Store) Append(ctx context.Context, name, request string, text []byte) error {
	if err := protocol.CheckNote(name, request, text); err != nil {
		return err
	}
	return s.journal(ctx, "append to the journal of", name, func(j *record.Journal, now time.Time) func() {
		j.Append(request, text, journalNotes, now)
		return func() {}
	})
}

// Notes implements [protocol.Journal].
func (s *Store) Notes(ctx context.Context, name string, n int) (notes []protocol.Noted, err error) {
	err = s.journal(ctx, "read the journal of", name, func(j *record.Journal, _ time.Time) func() {
		list := j.Notes(n)
		return func() { notes = list }
	})
	return notes, err
}

func (s *Store) journal(ctx context.Context, what, name string, f func(j *record.Journal, now time.Time) (done func())) error {
	change := on(journalKind, func(_ int, j *record.Journal, now time.Time) func() { return f(j, now) })
	err := cmp.Or(s.registers.update(ctx, []string{"journal:" + name}, look, true, change)...)
	if err != nil {
		return fmt.Errorf("%s %q: %w", what, name, err)
	}
	return nil
}
