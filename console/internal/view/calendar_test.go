package view_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/console/internal/view"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/jobs"
)

func calendar(t *testing.T, s *view.Snapshot, of string) string {
	t.Helper()
	return string(view.Calendar(s, query(t, view.Parse[view.CalendarQuery], of), noon))
}

// unfolded undoes the folding of lines, and checks it.
func unfolded(t *testing.T, text string) []string {
	t.Helper()
	require.True(t, strings.HasSuffix(text, "\r\n"))
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\r\n"), "\r\n") {
		require.LessOrEqual(t, len(line), 75, line)
		require.True(t, utf8.ValidString(line), "%q breaks a character", line)
		require.NotContains(t, line, "\n")
		require.NotContains(t, line, "\r")
	}
	return strings.Split(strings.ReplaceAll(text, "\r\n ", ""), "\r\n")
}

func TestCalendarHasTicksPausesAndClockChanges(t *testing.T) {
	text := calendar(t, small(t), "span=1d&q=nightly")
	golden(t, "calendar.ics", text)
	lines := unfolded(t, text)
	require.Contains(t, lines, "DTSTART:20261031T010000Z")
	require.Contains(t, lines, "DTEND:20261031T010400Z", "as long as the newest run")
	require.Equal(t, "BEGIN:VCALENDAR", lines[0])
	require.Contains(t, calendar(t, small(t), "q=nightly&span=150d"), "CATEGORIES:CLOCK")
	require.Contains(t, strings.Join(unfolded(t, calendar(t, small(t), "q=weekly")), "\n"), `DESCRIPTION:paused by ann: the books are closed`)
}

func TestCalendarEscapesAndFoldsHostileText(t *testing.T) {
	s := one(t, "@daily")
	reason := "a;b,c\\d\r\nBEGIN:VEVENT\x00\x1b[31m" + strings.Repeat("每天", 60) + "\xff"
	s.Status.Jobs[0].Paused = &fleet.Pause{By: "ann", Reason: reason, Since: noon}
	lines := unfolded(t, calendar(t, s, "span=1d"))
	require.Contains(t, strings.Join(lines, "\n"), `a\;b\,c\\d\nBEGIN:VEVENT[31m每天每天`)
	begins := 0
	for _, line := range lines {
		if line == "BEGIN:VEVENT" {
			begins++
		}
	}
	require.Equal(t, 2, begins, "the pause and a tick")
}

func TestCalendarIsBounded(t *testing.T) {
	dense := calendar(t, one(t, "* * * * * *"), "span=366d")
	require.Equal(t, 100, strings.Count(dense, "BEGIN:VEVENT"))
	require.Contains(t, strings.Join(unfolded(t, dense), "\n"), "More ticks follow")
	all := calendar(t, many(t, 400), "span=31d")
	require.LessOrEqual(t, strings.Count(all, "BEGIN:VEVENT"), 5000+10)
}

func TestCalendarEntriesKeepTheirIDs(t *testing.T) {
	s := one(t, "@hourly", jobs.WithTimezone("Asia/Tokyo"))
	uids := func(now time.Time) (list []string) {
		for _, line := range unfolded(t, string(view.Calendar(s, query(t, view.Parse[view.CalendarQuery], "span=1d"), now))) {
			if strings.HasPrefix(line, "UID:") {
				list = append(list, line)
			}
		}
		return list
	}
	before, after := uids(noon), uids(noon.Add(time.Hour))
	require.Equal(t, before[1:], after[:len(after)-1], "so that a program which reads it again moves none")
}
