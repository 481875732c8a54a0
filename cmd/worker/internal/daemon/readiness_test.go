package daemon

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/scheduler"
)

func TestWhyAReplicaIsNotReady(t *testing.T) {
	r := new(readiness)
	require.Contains(t, r.reason(false), "does not answer")
	r.observe(scheduler.StoreChanged{Up: true})
	require.Contains(t, r.reason(false), "starting")
	r.observe(scheduler.ClockSampled{})
	require.Empty(t, r.reason(true))
	r.observe(scheduler.StoreChanged{})
	require.Contains(t, r.reason(false), "does not answer")
	r.observe(scheduler.StoreChanged{WritesOnly: true})
	require.Contains(t, r.reason(false), "fails writes")
	r.observe(scheduler.StoreChanged{Up: true, WritesOnly: true})
	require.Empty(t, r.reason(true))
	r.draining.Store(true)
	require.Contains(t, r.reason(true), "draining")
}
