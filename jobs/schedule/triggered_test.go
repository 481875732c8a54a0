package schedule_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs/schedule"
)

func TestTriggeredAndStoredHaveNoTicks(t *testing.T) {
	for spec, words := range map[string]string{"@Triggered": "only when it is triggered", "@Stored": "by its schedules in the store"} {
		s := parse(t, " "+spec+" ", location(t, "Europe/Berlin"))
		require.True(t, s.Empty())
		require.Equal(t, spec == "@Stored", s.Stored())
		for _, after := range []time.Time{{}, time.Unix(0, 0), time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)} {
			require.Zero(t, s.Next(after))
			require.Zero(t, s.Before(after))
		}
		require.EqualValues(t, math.MaxInt64, s.MinInterval())
		require.Empty(t, s.ClockChanges(time.Unix(0, 0), time.Unix(1<<32, 0)))
		require.Equal(t, words, s.Words(nil))

		_, err := schedule.Parse(spec+" daily", time.UTC, "job")
		require.EqualError(t, err, "must have nothing after "+strings.ToLower(spec))
	}
	require.False(t, parse(t, "@at 0001-01-01T00:00:01Z", time.UTC).Empty(), "one that is over had a tick")
	require.False(t, parse(t, "@hourly", time.UTC).Stored())
}
