package engine_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
)

func TestCancelledLeaseStaysStoppedWhenItBeginsAgain(t *testing.T) {
	m, s, g := running(t)
	a, err := s.Cancel(t.Context(), protocol.Cancel{Name: "job", Tick: 100, By: "ops"})
	require.NoError(t, err)
	require.Equal(t, protocol.CancelPending, a.Status)
	m.Step(-10 * time.Minute)
	_, err = s.Claim(t.Context(), claim(101, "b")) // begins leases again that were renewed in the future
	require.NoError(t, err)
	require.ErrorAs(t, s.Renew(t.Context(), []protocol.Grant{g})[0], new(*protocol.CancelledError))
}
