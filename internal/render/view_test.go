package render

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTimesAreShownAsPeopleReadThem(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	now := time.Date(2026, 11, 20, 23, 30, 0, 0, berlin) // a Friday
	v := View{Human: true, Now: now, Zone: berlin}
	for _, test := range []struct {
		after time.Duration
		want  string
	}{
		{0, "now, 23:30"},
		{400 * time.Millisecond, "now, 23:30:00.400"},
		{2 * time.Second, "in 2 s, 23:30:02"},
		{-5 * time.Second, "5 s ago, 23:29:55"},
		{59*time.Second + 600*time.Millisecond, "in 1 min, 23:30:59.600"},
		{-90 * time.Second, "1 min 30 s ago, 23:28:30"},
		{12 * time.Minute, "in 12 min, 23:42"},
		{time.Hour, "in 1 h, Sat 00:30"},
		{79 * time.Minute, "in 1 h 19 min, Sat 00:49"},
		{-24 * time.Hour, "24 h ago, Thu 23:30"},
		{-6 * 24 * time.Hour, "6 d ago, Sat 23:30"},
		{7 * 24 * time.Hour, "in 7 d, 27 Nov 23:30"},
		{41*24*time.Hour + 2*time.Hour + 30*time.Minute, "in 41 d, 1 Jan 02:00"},
		{-400 * 24 * time.Hour, "400 d ago, 2025-10-17 00:30"}, // in summer time
	} {
		require.Equal(t, test.want, v.When(now.Add(test.after)))
		require.Equal(t, now.Add(test.after).Format("2006-01-02 15:04:05"), View{Zone: berlin}.When(now.Add(test.after))[:19], "in a pipe, in full")
	}
	require.Empty(t, v.When(time.Time{}))
	require.Equal(t, "23:30", v.Tick(now.UTC()), "the day is that of the zone")
	require.Equal(t, "07:30", View{Human: true, Now: now, Zone: time.FixedZone("", 9*3600)}.Tick(now))
}

func TestATableKeepsWithinItsWidth(t *testing.T) {
	wide := NewTable("JOB", "NEXT", "NOTE")
	wide.Add(Cell{"a-rather-long-name-of-a-job", Plain}, Cell{"in 26 h, Sat 04:30", Plain}, Cell{"some words that go on", Plain})
	wide.Note("what went wrong is said in full, however many lines it takes", Plain)
	wide.fit(40)
	require.Equal(t, `JOB        NEXT                NOTE
a-rather…  in 26 h, Sat 04:30  some wor…
    what went wrong is said in full,
    however many lines it takes
`, wide.Text(View{}))
	require.Equal(t, "größe", shorten("größe", 5))
	require.Equal(t, "grö…", shorten("größe", 4))
}
