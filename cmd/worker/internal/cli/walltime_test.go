package cli

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
)

func TestTimesThatAClockChangeMovesAreFound(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	for reading, want := range map[string][]string{
		"2027-03-28 01:59:59": {"2027-03-28T00:59:59Z"},
		"2027-03-28 02:00:00": {"2027-03-28T01:00:00Z"},
		"2027-03-28 02:30:00": {"2027-03-28T01:00:00Z"},
		"2027-03-28 03:00:00": {"2027-03-28T01:00:00Z"},
		"2027-10-31 01:59:59": {"2027-10-30T23:59:59Z"},
		"2027-10-31 02:30:00": {"2027-10-31T00:30:00Z", "2027-10-31T01:30:00Z"},
		"2027-10-31 03:00:00": {"2027-10-31T02:00:00Z"},
		"2027-07-01 12:00:00": {"2027-07-01T10:00:00Z"},
	} {
		at, err := time.Parse(time.DateTime, reading)
		require.NoError(t, err)
		var got []string
		for _, instant := range atWall(at, berlin) {
			require.Equal(t, berlin, instant.Location())
			got = append(got, instant.UTC().Format(time.RFC3339Nano))
		}
		require.Equal(t, want, got, reading)
	}
	nothing := func(context.Context, jobs.Run) error { return nil }
	second, err := jobs.New("second", "@at 2027-10-31T01:30:00Z", nothing)
	require.NoError(t, err)
	twice := atWall(time.Date(2027, 10, 31, 2, 30, 0, 0, time.UTC), berlin)
	require.True(t, scheduledOne(twice, second).Equal(twice[1]), "the pass that has a tick")
	require.True(t, scheduledOne(twice, nil).Equal(twice[0]))
}
