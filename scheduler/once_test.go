package scheduler_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
)

func TestEveryTickOfADayRunsOnce(t *testing.T) {
	inFleet(t, func(f *fleet) {
		const long = ttl*3 + ttl/2
		f.job("instant", "* * * * *", takes(0))
		f.job("long", "@every 2m", takes(long))
		f.job("zoned", "*/15 * * * *", takes(time.Second), jobs.WithTimezone("America/St_Johns"))
		f.startMany(3)
		hours := 24
		if raceDetected {
			hours = 1
		}
		f.sleepTo(time.Duration(hours)*time.Hour + time.Minute - 1)

		for name, count := range map[string]int{"instant": 60 * hours, "long": 30 * hours, "zoned": 4 * hours} {
			runs := f.runs.of(name)
			require.Len(t, runs, count)
			for i, run := range runs {
				require.Equal(t, run.Tick, run.start.UTC(), "on time")
				require.Equal(t, 1, run.Attempt)
				if i > 0 {
					require.Greater(t, run.Tick, runs[i-1].Tick)
				}
			}
			require.Equal(t, map[protocol.Outcome]int{"succeeded": count}, f.fates(name))
		}
	})
}
