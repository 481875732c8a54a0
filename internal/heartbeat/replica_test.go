package heartbeat_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/heartbeat"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
)

func TestHeartbeatReadsBackAsItWasSent(t *testing.T) {
	r := heartbeat.Replica{
		ID: "web-1", Groups: []string{"eu", "us"}, Started: time.UnixMilli(1795175158387).UTC(), Version: "v1.2.3",
		ClockOffset: -1500 * time.Millisecond, TTL: 15 * time.Second, Running: 3, MaxRuns: 8, Used: 5, Waiting: 2, Stopping: true,
		Jobs: map[string]string{"report": "0123456789ab"}, JobCount: 1,
	}
	read, err := heartbeat.Decode(r.Encode())
	require.NoError(t, err)
	require.Equal(t, r, read)
	require.JSONEq(t, `{"id": "web-1", "groups": ["eu", "us"], "started_ms": 1795175158387, "version": "v1.2.3",
		"clock_offset_ms": -1500, "term_ms": 15000, "running": 3, "max_runs": 8, "used": 5, "waiting": 2, "stopping": true, "jobs": {"report": "0123456789ab"}, "job_count": 1}`,
		string(r.Encode()), "other versions read it")

	read, err = heartbeat.Decode([]byte(`{"id": "x", "of_a_later_version": 1}`))
	require.NoError(t, err)
	require.Equal(t, heartbeat.Replica{ID: "x"}, read)
	_, err = heartbeat.Decode([]byte("?"))
	require.Error(t, err)
}

func TestHeartbeatNamesABoundedNumberOfFailingRuns(t *testing.T) {
	r := heartbeat.Replica{ID: "a"}
	for i := range 2 * heartbeat.MostFailing {
		r.Failing = append(r.Failing, wire.FailingRun{
			Job: strings.Repeat("j", 128), Token: 1 << 52, Attempt: i + 1, Failures: i, Since: time.UnixMilli(1795175158387).UTC(), Error: strings.Repeat("e", 240),
			Next: time.UnixMilli(1795175158389).UTC(),
		})
	}
	text := r.Encode()
	require.Less(t, len(text), 40<<10)
	read, err := heartbeat.Decode(text)
	require.NoError(t, err)
	require.Equal(t, r.Failing[:heartbeat.MostFailing], read.Failing)
	require.NotContains(t, string(heartbeat.Replica{ID: "a"}.Encode()), "failing")
}

func TestReplicasOfTheSameJobsShareThem(t *testing.T) {
	sets := make(heartbeat.JobLists)
	decode := func(id, revision string) heartbeat.Replica {
		r := heartbeat.Replica{ID: id, Running: len(id), Jobs: map[string]string{"report": revision}, JobCount: 1}
		read, err := sets.Decode(r.Encode())
		require.NoError(t, err)
		require.Equal(t, r, read)
		return read
	}
	shared := func(a, b heartbeat.Replica) bool {
		return reflect.ValueOf(a.Jobs).Pointer() == reflect.ValueOf(b.Jobs).Pointer()
	}
	first := decode("a", "0123456789ab")
	require.True(t, shared(first, decode("another", "0123456789ab")))
	require.False(t, shared(first, decode("a", "ba9876543210")))
	_, err := sets.Decode([]byte(`{"id": "x", "jobs": {"report": 1}}`))
	require.Error(t, err)
}

func TestHeartbeatWithTooManyJobsOmitsThem(t *testing.T) {
	r := heartbeat.Replica{ID: "big", Jobs: map[string]string{}}
	for i := range 50_000 {
		r.Jobs[fmt.Sprintf("a-job-with-a-number-%d", i)] = "0123456789ab"
	}
	text := r.Encode()
	require.LessOrEqual(t, len(text), protocol.MaxInfo)
	read, err := heartbeat.Decode(text)
	require.NoError(t, err)
	require.Equal(t, heartbeat.Replica{ID: "big", JobCount: 50_000}, read)
}
