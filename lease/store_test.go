package lease_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/driver"
)

func TestNewStoreNamesEveryFault(t *testing.T) {
	_, err := lease.NewStore(nil, "a b", nil)
	for _, want := range []string{"driver: nil must be", `namespace "a b"`, "options[0]: nil must be"} {
		require.ErrorContains(t, err, want)
	}
}

func TestStoreOfADriverGrantsLeasesAndHints(t *testing.T) {
	full := errors.New("full")
	store, err := lease.NewStore(new(driver.Memory), "billing", lease.WithHint(func(err error) string {
		if errors.Is(err, full) {
			return "make room"
		}
		return ""
	}))
	require.NoError(t, err)
	require.Equal(t, "billing", store.Namespace())
	require.Equal(t, "make room", store.Hint(full))
	held, err := lease.Acquire(t.Context(), store, lease.Claim{Name: "report", Tick: 1, Holder: "a", TTL: time.Minute})
	require.NoError(t, err)
	require.NoError(t, held.Settle(t.Context(), lease.OutcomeSucceeded))
	require.NoError(t, store.Check(t.Context()))
}
