package fleet_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/lease"
)

func TestANoteIsReadAsItWasWritten(t *testing.T) {
	for _, n := range []fleet.Note{
		{},
		{Started: time.UnixMilli(1795175158387).UTC()},
		{Reason: "misfire", Count: 12},
		{Started: time.UnixMilli(1).UTC(), Error: "exit status 1: \"no\nsuch\tfile\" {<&>}"},
	} {
		require.Equal(t, n, fleet.ParseNote(n.String()))
	}
	require.Empty(t, fleet.Note{}.String())
}

func TestWhatStoresNoteThemselvesIsAReason(t *testing.T) {
	for _, word := range []string{lease.NoteOverlap, lease.NotePaused, lease.NoteNewer, lease.NoteExpired, "", "{not json"} {
		require.Equal(t, fleet.Note{Reason: word}, fleet.ParseNote(word))
	}
}

func TestANoteNeverOutgrowsTheStoreAndStaysReadable(t *testing.T) {
	for name, text := range map[string]string{
		"plain":    strings.Repeat("x", 5000),
		"escapes":  strings.Repeat("\x01", 5000),
		"wide":     strings.Repeat("日", 5000),
		"not utf8": strings.Repeat("x\xff", 5000),
	} {
		t.Run(name, func(t *testing.T) {
			n := fleet.Note{Started: time.UnixMilli(1795175158387), Reason: "takeovers", Count: 100_000, Error: text}
			written := n.String()
			require.LessOrEqual(t, len(written), lease.MaxNote)
			require.Equal(t, written, lease.Cut(written, lease.MaxNote), "a store does not cut it")
			read := fleet.ParseNote(written)
			require.Equal(t, n.Reason, read.Reason)
			require.GreaterOrEqual(t, len(read.Error), 100)
			require.True(t, utf8.ValidString(read.Error))
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		n := fleet.Note{Error: rapid.String().Draw(t, "error"), Reason: rapid.StringMatching("[a-z_]{0,20}").Draw(t, "reason")}
		written := n.String()
		require.LessOrEqual(t, len(written), lease.MaxNote)
		read := fleet.ParseNote(written)
		require.Equal(t, n.Reason, read.Reason)
		require.Equal(t, lease.Cut(n.Error, len(read.Error)), read.Error)
	})
}
