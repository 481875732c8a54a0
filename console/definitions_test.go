package console_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/heartbeat"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

func TestGroupsOfJobsThatOnlyOthersDefine(t *testing.T) {
	s := newSite(t)
	job, err := jobs.New("elsewhere", "@hourly", func(context.Context, jobs.Run) error { return nil }, jobs.WithGroups("eu", "batch"))
	require.NoError(t, err)
	require.NoError(t, wire.NoteDefinition(t.Context(), s.store, job))
	replica := heartbeat.Replica{ID: "worker-1", TTL: 10 * time.Second, Jobs: map[string]string{job.Name(): job.Revision()}}
	require.NoError(t, s.store.SendHeartbeat(t.Context(), replica.ID, replica.Encode(), time.Minute))
	page := s.decode(s.get("/jobs.json?group=batch"))
	require.InDelta(t, 1, page["matching"], 0)
	row := page["jobs"].([]any)[0].(map[string]any)
	require.Equal(t, "elsewhere", row["job"])
	require.Equal(t, false, row["configured"])
	require.Equal(t, []any{"eu", "batch"}, row["groups"])
	require.Contains(t, text(t, s.get("/?group=eu")), "elsewhere")
	require.Equal(t, http.StatusOK, s.get("/load?group=eu").StatusCode)
}
