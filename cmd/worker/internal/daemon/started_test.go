package daemon

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/scheduler"
)

func TestFirstTickIgnoresPausedJobs(t *testing.T) {
	var registry jobs.Registry
	for name, schedule := range map[string]string{"hourly": "@hourly", "often": "@every 1m", "late": "@daily", "never": "@at 2020-01-01T00:00:00Z"} {
		spec := jobs.Defaults()
		spec.Name, spec.Schedule, spec.Paused = name, schedule, name == "often"
		job, err := jobs.FromSpec(spec, func(context.Context, jobs.Run) error { return nil })
		require.NoError(t, err)
		require.NoError(t, registry.Add(job))
	}
	now := time.Date(2026, 3, 1, 2, 30, 0, 0, time.UTC)
	served := []scheduler.JobStatus{{Name: "late"}, {Name: "often"}, {Name: "hourly"}, {Name: "never"}}
	name, tick := firstTick(served, &registry, now)
	require.Equal(t, "hourly", name)
	require.Equal(t, time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC), tick)
	name, _ = firstTick(served[3:], &registry, now)
	require.Empty(t, name)
}
