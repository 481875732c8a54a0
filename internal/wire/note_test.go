package wire_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
)

func TestANoteIsReadAsItWasWritten(t *testing.T) {
	for _, n := range []wire.Note{
		{},
		{Started: time.UnixMilli(1795175158387).UTC()},
		{Reason: "misfire", Count: 12},
		{
			Started: time.UnixMilli(1000).UTC(), Ended: time.UnixMilli(9000).UTC(), Renewals: 3, Margin: 1500 * time.Millisecond, Again: time.UnixMilli(5000).UTC(),
			Margins: []time.Duration{9 * time.Second, 1500 * time.Millisecond, 8999 * time.Millisecond},
			Retried: []wire.Run{
				{Attempt: 1, Started: time.UnixMilli(1000).UTC(), Ended: time.UnixMilli(2000).UTC(), End: wire.RunRetried, Error: "exit status 1"},
				{Attempt: 2, Started: time.UnixMilli(3000).UTC(), Ended: time.UnixMilli(3000).UTC(), End: wire.RunRetried},
			},
			Before: &wire.Run{
				Attempt: 1, Replica: "r0", Token: 1<<53 - 1, Started: time.UnixMilli(1).UTC(), Ended: time.UnixMilli(7).UTC(), End: wire.RunExpired,
			},
		},
		{Started: time.UnixMilli(1).UTC(), Error: "exit status 1: \"no\nsuch\tfile\" {<&>}"},
	} {
		require.Equal(t, n, wire.ParseNote(n.String()))
	}
	require.Empty(t, wire.Note{}.String())
}

func TestNotesOfStoresBecomeReasons(t *testing.T) {
	for _, word := range []string{protocol.NoteOverlap, protocol.NotePaused, protocol.NoteNewer, protocol.NoteExpired, "", "{not json"} {
		require.Equal(t, wire.Note{Reason: word}, wire.ParseNote(word))
	}
}

func TestNoteNeverOutgrowsTheStoreAndStaysReadable(t *testing.T) {
	for name, text := range map[string]string{
		"plain":    strings.Repeat("x", 5000),
		"escapes":  strings.Repeat("\x01", 5000),
		"wide":     strings.Repeat("日", 5000),
		"not utf8": strings.Repeat("x\xff", 5000),
	} {
		t.Run(name, func(t *testing.T) {
			n := wire.Note{Started: time.UnixMilli(1795175158387), Reason: "takeovers", Count: 100_000, Error: text}
			n.Before = &wire.Run{Attempt: 1 << 30, Replica: strings.Repeat("r", 128), Token: 1<<53 - 1, Started: n.Started, Ended: n.Started, End: wire.RunReleased}
			for i := range 20 {
				n.Retried = append(n.Retried, wire.Run{Attempt: i, Started: n.Started, Ended: n.Started.Add(time.Hour), Error: text})
			}
			written := n.String()
			require.LessOrEqual(t, len(written), protocol.MaxNote)
			require.Equal(t, written, protocol.Cut(written, protocol.MaxNote), "a store does not cut it")
			require.Equal(t, n.Before.Replica, wire.ParseNote(written).Before.Replica)
			retried := wire.ParseNote(written).Retried
			require.NotEmpty(t, retried)
			require.Equal(t, 19, retried[len(retried)-1].Attempt, "the newest are kept")
			read := wire.ParseNote(written)
			require.Equal(t, n.Reason, read.Reason)
			require.GreaterOrEqual(t, len(read.Error), 100)
			require.True(t, utf8.ValidString(read.Error))
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		n := wire.Note{Error: rapid.String().Draw(t, "error"), Reason: rapid.StringMatching("[a-z_]{0,20}").Draw(t, "reason")}
		written := n.String()
		require.LessOrEqual(t, len(written), protocol.MaxNote)
		read := wire.ParseNote(written)
		require.Equal(t, n.Reason, read.Reason)
		require.Equal(t, strings.ToValidUTF8(n.Error, "\uFFFD"), read.Error)
	})
}

func TestNoteStaysWithinAHistorysShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(128, protocol.MaxNote).Draw(t, "most")
		n := wire.Note{
			Started: time.UnixMilli(1795175158387).UTC(), Ended: time.UnixMilli(1795175158400).UTC(), Error: rapid.String().Draw(t, "error"),
			Reason: rapid.StringMatching("[a-z_]{0,20}").Draw(t, "reason"), By: rapid.StringMatching("[a-z]{0,128}").Draw(t, "by"), Renewals: 1 << 30, Margin: 1 << 50, Margins: slices.Repeat([]time.Duration{1 << 50}, 8),
			Again: time.UnixMilli(1795175158395).UTC(), Before: &wire.Run{Attempt: 3, Replica: rapid.StringMatching("[a-z]{1,128}").Draw(t, "replica"), Token: 1<<53 - 1},
		}
		for i := range rapid.IntRange(0, 9).Draw(t, "retried") {
			n.Retried = append(n.Retried, wire.Run{Attempt: i, Started: n.Started, Ended: n.Ended, Error: rapid.String().Draw(t, "failure")})
		}
		written := n.Within(most)
		require.LessOrEqual(t, len(written), most)
		read := wire.ParseNote(written)
		require.Equal(t, n.Reason, read.Reason)
		require.Equal(t, n.Started, read.Started)
		require.Equal(t, n.Ended, read.Ended)
	})
}

func TestNoteKeepsTheLastLinesOfAnError(t *testing.T) {
	const what = "command failed: exit code 3; last output:"
	for name, line := range map[string]string{
		"plain":              "line %03d of what the command wrote, which is of some length",
		"control characters": "\x1b[31m%03d\x00\x01\x02\x03\x04\x05\x06\x07\x1b[0m\"\\<&>\u2028",
		"wide":               "%03d 日本語の行",
	} {
		t.Run(name, func(t *testing.T) {
			var lines []string
			for i := range 400 {
				lines = append(lines, fmt.Sprintf(line, i))
			}
			lines = append(lines, "FATAL: the reason")
			n := wire.Note{Started: time.UnixMilli(1795175158387).UTC(), By: "ops", Error: what + "\n" + strings.Join(lines, "\n")}
			written := n.String()
			require.LessOrEqual(t, len(written), protocol.MaxNote)
			read := wire.ParseNote(written)
			kept, ok := strings.CutPrefix(read.Error, what+"\n[...]\n")
			require.True(t, ok, "what failed, and that something was cut: %q", read.Error[:100])
			require.GreaterOrEqual(t, len(kept), 2<<10)
			require.Equal(t, lines[len(lines)-1-strings.Count(kept, "\n"):], strings.Split(kept, "\n"), "whole lines, and the last")
			require.Equal(t, n.Started, read.Started)
		})
	}
}

func TestNoteKeepsBothEndsOfALongLine(t *testing.T) {
	read := wire.ParseNote(wire.Note{Error: "begin " + strings.Repeat("日", 5000) + " end"}.String())
	require.True(t, strings.HasPrefix(read.Error, "begin 日"))
	require.True(t, strings.HasSuffix(read.Error, "日 end"))
	require.Contains(t, read.Error, "\n[...]\n日")
	require.True(t, utf8.ValidString(read.Error))
}

func TestNotesOfEarlierVersionsAreRead(t *testing.T) {
	require.Equal(t, wire.Note{Started: time.UnixMilli(7).UTC(), Error: "exit\n1"},
		wire.ParseNote(`{"started":7,"error":"exit\n1"}`))
}
