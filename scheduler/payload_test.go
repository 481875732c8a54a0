package scheduler_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

// give triggers the job with a payload, and returns the tick that serves the trigger.
func (f *fleet) give(job, payload string) time.Time {
	f.t.Helper()
	answer, err := f.store.Trigger(context.Background(), protocol.Trigger{
		Name: job, By: "ops", Request: protocol.NewRequest(), Payload: payload,
	})
	require.NoError(f.t, err)
	require.Equal(f.t, protocol.Opened, answer.Status)
	return time.UnixMilli(answer.Tick).UTC()
}

// payloads returns those of a job's attempts, in the order in which they began.
func (f *fleet) payloads(job string) (list []string) {
	for _, a := range f.runs.of(job) {
		list = append(list, string(a.Payload))
	}
	return list
}

func TestEveryAttemptIsGivenThePayload(t *testing.T) {
	inFleet(t, func(f *fleet) {
		fails := func(ctx context.Context, run jobs.Run) error {
			if run.Attempt < 2 {
				return errors.New("not yet")
			}
			return takes(20*time.Second)(ctx, run)
		}
		f.job("job", "@triggered", fails, jobs.WithRetry(jobs.Retry{MaxAttempts: 2, Backoff: time.Second, MaxBackoff: time.Second}))
		f.startMany(3)
		f.sleepTo(10500 * time.Millisecond)
		tick := f.give("job", "tenant 7")
		f.sleepTo(15 * time.Second)
		holder, _ := f.holder("job")
		holder.link.cut() // dies with its second attempt under way
		f.sleepTo(time.Minute)
		require.Equal(t, []string{"tenant 7", "tenant 7", "tenant 7"}, f.payloads("job"))
		require.Equal(t, wire.Succeeded, f.fateOf("job", tick).outcome)
	})
}

func TestPayloadsThatWaitAllRun(t *testing.T) {
	for _, overlap := range []jobs.Overlap{jobs.Forbid, jobs.Queue} {
		t.Run(string(overlap), func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.job("job", "* * * * *", takes(10*time.Second), jobs.WithOverlap(overlap))
				f.startMany(3)
				f.sleepTo(61500 * time.Millisecond)
				var ticks []time.Time
				for _, payload := range []string{"a", "b", "c"} {
					time.Sleep(time.Second)
					ticks = append(ticks, f.give("job", payload))
				}
				f.sleepTo(175 * time.Second)
				require.ElementsMatch(t, []string{"", "a", "b", "c", ""}, f.payloads("job"))
				for _, tick := range ticks {
					require.Equal(t, wire.Succeeded, f.fateOf("job", tick).outcome)
				}
				require.Empty(t, f.beside("job"), "one after the other")
			})
		})
	}
}

func TestAtMostOncePayloadIsGivenOnce(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@triggered", takes(20*time.Second), jobs.WithDelivery(jobs.AtMostOnce))
		f.startMany(3)
		f.sleepTo(10500 * time.Millisecond)
		tick := f.give("job", "tenant 7")
		f.sleepTo(15 * time.Second)
		holder, _ := f.holder("job")
		holder.link.cut()
		f.sleepTo(2 * time.Minute)
		require.Equal(t, []string{"tenant 7"}, f.payloads("job"))
		require.Equal(t, wire.Lost, f.fateOf("job", tick).outcome)
	})
}
