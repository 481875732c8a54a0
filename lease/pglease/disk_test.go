package pglease_test

import (
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/dbtest"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/driver"
)

func TestFullDiskLosesNothingAndSaysSo(t *testing.T) {
	t.Parallel()
	server, err := dbtest.PostgresOnDisk(answers)
	require.NoError(t, err)
	s := open(t, dbtest.PostgresDSN(server.Dir))
	kept := map[string]driver.Version{}
	large := make([]byte, 4000)
	for n := 0; err == nil && n < 2000; n++ {
		if n == 20 {
			require.NoError(t, server.SetFull(true))
		}
		_, _ = rand.Read(large) // what cannot be compressed
		key := fmt.Sprint("job-", n)
		res := change(t.Context(), s, key, driver.Change{ID: "x", Data: large})
		if err = res.Err; err == nil {
			kept[key] = res.Version
		}
	}
	require.GreaterOrEqual(t, len(kept), 20)
	require.ErrorContains(t, err, "No space left on device")
	require.NotErrorIs(t, err, protocol.ErrPermanent)
	require.Contains(t, s.Hint(err), "make room on the disk")

	require.NoError(t, server.SetFull(false))
	require.Eventually(t, func() bool {
		return change(t.Context(), s, "later", driver.Change{ID: "y", Data: large}).Err == nil
	}, time.Minute, 20*time.Millisecond)
	for key, version := range kept {
		require.Equal(t, version, read(t.Context(), s, key).Value.Version, key)
		changed(t, s, key, version, "next")
	}
}
