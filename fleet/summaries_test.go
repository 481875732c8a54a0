package fleet_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
)

// distant is a store whose summaries take 10 ms on the way.
type distant struct{ *memlease.Store }

func (s distant) Summarize(ctx context.Context, names []string) ([]protocol.Summary, error) {
	time.Sleep(10 * time.Millisecond)
	return s.Store.Summarize(ctx, names)
}

func TestPagesOfALargeFleetAreReadTogether(t *testing.T) {
	inWorld(t, func(w world) {
		var given []*jobs.Job
		for i := range 10 * protocol.MaxSummaries {
			job, err := jobs.New(fmt.Sprintf("job-%04d", i), "@hourly", func(context.Context, jobs.Run) error { return nil })
			require.NoError(w, err)
			given = append(given, job)
			w.contended(job.Name())
		}
		f, err := fleet.New(distant{w.store})
		require.NoError(w, err)
		began := time.Now()
		s, err := f.Status(w.Context(), given)
		require.NoError(w, err)
		require.Equal(w, 10*time.Millisecond, time.Since(began), "ten pages take as long as one")
		require.Len(w, s.Jobs, len(given))
		for i := range s.Jobs {
			require.Equal(w, given[i].Name(), s.Jobs[i].Name)
			require.True(w, s.Jobs[i].Known)
		}
	})
}
