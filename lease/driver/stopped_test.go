package driver_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease"
)

func TestCancelledLeaseStaysStoppedWhenItBeginsAgain(t *testing.T) {
	m, s, g := running(t)
	a, err := s.Cancel(t.Context(), lease.Cancel{Name: "job", Occasion: 100, By: "ops"})
	require.NoError(t, err)
	require.Equal(t, lease.CancelPending, a.Status)
	m.Step(-10 * time.Minute)
	_, err = s.Claim(t.Context(), claim(101, "b")) // begins leases again that were renewed in the future
	require.NoError(t, err)
	require.ErrorAs(t, s.Renew(t.Context(), []lease.Grant{g})[0], new(*lease.CancelledError))
}
