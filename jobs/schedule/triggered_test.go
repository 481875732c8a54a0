package schedule_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs/schedule"
)

func TestTriggeredHasNoTicks(t *testing.T) {
	s := parse(t, " @Triggered ", location(t, "Europe/Berlin"))
	require.True(t, s.Empty())
	for _, after := range []time.Time{{}, time.Unix(0, 0), time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)} {
		require.Zero(t, s.Next(after))
		require.Zero(t, s.Before(after))
	}
	require.EqualValues(t, math.MaxInt64, s.MinInterval())
	require.Empty(t, s.ClockChanges(time.Unix(0, 0), time.Unix(1<<32, 0)))
	require.Equal(t, "only when it is triggered", s.Words(nil))

	require.False(t, parse(t, "@at 0001-01-01T00:00:01Z", time.UTC).Empty(), "one that is over had a tick")
	_, err := schedule.Parse("@triggered daily", time.UTC, "job")
	require.EqualError(t, err, "must have nothing after @triggered")
}
