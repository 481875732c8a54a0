package plan

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
)

func TestJobsShareWhatIsTheSame(t *testing.T) {
	define := func(k *Common, name, schedule string, options ...jobs.Option) *Definition {
		job, err := jobs.New(name, schedule, func(context.Context, jobs.Run) error { return nil }, options...)
		require.NoError(t, err)
		return k.Define(job)
	}
	var k Common
	a, b := define(&k, "a", "* * * * *"), define(&k, "b", "* * * * *", jobs.WithGroups("g"))
	require.Same(t, a.Spec, b.Spec)
	require.Same(t, a.ticks, b.ticks)
	c := define(&k, "c", "* * * * *", jobs.WithTimezone("Asia/Tokyo"), jobs.WithTimeout(time.Second))
	require.NotSame(t, a.Spec, c.Spec)
	require.NotSame(t, a.ticks, c.ticks, "another time zone")
	require.NotSame(t, define(&k, "d", "H H * * *").ticks, define(&k, "e", "H H * * *").ticks, "H depends on the name")
	require.EqualValues(t, 120_000, a.TickAfter(60_000))
	require.EqualValues(t, 180_000, b.TickAfter(120_000))
	require.EqualValues(t, 120_000, b.TickAfter(60_000))
}
