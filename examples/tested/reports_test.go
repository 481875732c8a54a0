package tested

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/schedules"
	"github.com/solotick/solotick/solotest"
)

// Each customer has a report when the customer wants it, also if a replica dies while it makes one.
func TestEachCustomerHasItsReport(t *testing.T) {
	solotest.Run(t, 3, func(t *testing.T, f *solotest.Fleet) {
		f.Func("report", "", func(ctx context.Context, run jobs.Run) error {
			if run.Key == "umbrella" && run.Tick.Equal(f.Began().Add(7*time.Minute)) && run.Attempt == 1 {
				f.Kill(run.Replica)
				<-ctx.Done()
			}
			return ctx.Err()
		}, jobs.WithSchedules())
		f.Put("report", schedules.Schedule{Key: "acme", Cron: "*/10 * * * *", Payload: "pdf"})
		f.Put("report", schedules.Schedule{Key: "umbrella", Cron: "*/7 * * * *"})

		first := f.RunNext("report", "acme")
		require.Equal(t, "pdf", string(first.Payload))
		require.Equal(t, f.Began().Add(10*time.Minute), first.Tick)
		f.AssertOnce("report/umbrella", f.Began().Add(time.Minute), f.Now())
		require.Len(t, f.Runs("report/umbrella"), 2, "one of them on a replica that died")

		f.Put("report", schedules.Schedule{Key: "acme", Cron: "*/15 * * * *", Payload: "csv"})
		require.Equal(t, "csv", string(f.RunNext("report", "acme").Payload))
		_, err := f.Schedules("report").Delete(t.Context(), "umbrella")
		require.NoError(t, err)
		f.Advance(20 * time.Minute)
		f.AssertOnce("report/acme", f.Began().Add(15*time.Minute), f.Now())
		require.Len(t, f.Runs("report/umbrella"), 3, "none after it was deleted")
	})
}
