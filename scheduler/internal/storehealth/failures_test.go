package storehealth

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/steady"
)

func TestWaitsAfterFailuresDoubleUntilAnAnswer(t *testing.T) {
	var f Failures
	var waits []int64
	for range 7 {
		waits = append(waits, f.Add(5))
	}
	require.Equal(t, []int64{50, 100, 200, 400, 800, 1000, 1000}, waits)
	f.Answered(6, time.Second)
	require.EqualValues(t, 50, f.Add(7))
}

func TestContactWithAJobsServerEndsWithItsOwnFailures(t *testing.T) {
	const gap = time.Second // of a TTL of 3 s
	at := func(d time.Duration) steady.Instant { return steady.Instant(time.Hour + d) }
	for name, test := range map[string]struct {
		failed, answered time.Duration // after an hour; 0 for never
		server           time.Duration // since when the store reaches the job's part; 0 where it has only one
		now              time.Duration
		since            time.Duration
		ok               bool
	}{
		"others were answered":       {0, 0, 0, 3 * time.Second, 1, true},
		"one has just failed":        {3 * time.Second, 0, 0, 3500 * time.Millisecond, 1, true},
		"it has failed for a while":  {2 * time.Second, 0, 0, 3500 * time.Millisecond, 1, false},
		"then it was answered":       {2 * time.Second, 3500 * time.Millisecond, 0, 3600 * time.Millisecond, 3500 * time.Millisecond, true},
		"soon enough":                {3 * time.Second, 3500 * time.Millisecond, 0, 3600 * time.Millisecond, 1, true},
		"its server was away before": {0, 0, 2 * time.Second, 3 * time.Second, 2 * time.Second, true},
	} {
		c, f := NewContact(3*gap), Failures{}
		for d := time.Duration(1); d <= test.now; d += gap / 2 {
			c.Answered(at(d), at(d))
		}
		if test.failed != 0 {
			f.Add(at(test.failed))
		}
		if test.answered != 0 {
			f.Answered(at(test.answered), gap)
		}
		since, until, ok := c.LastsFor(&f, at(test.now), func(time.Duration) (begun, ends steady.Instant, ok bool) {
			if test.server == 0 {
				return 0, 0, true
			}
			return at(test.server), at(test.now + 1), true
		})
		require.Equal(t, test.ok, ok, name)
		require.Equal(t, at(test.since), since, name)
		if test.server != 0 {
			require.Equal(t, at(test.now+1), until, name)
		}
	}
}
