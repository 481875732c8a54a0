package redislease_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/redislease"
)

func TestAForeignValueFailsOnlyItsOwnRenewal(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	s := open(t, srv.Addr())
	var grants []protocol.Grant
	for i := range 7 {
		name := fmt.Sprint("job", i)
		synced(t, s, name)
		grants = append(grants, granted(t, s, claimOf(name, 0, "a", "r")))
	}
	key := redislease.Key("default", "job3")
	require.NoError(t, srv.Client(t).Set(t.Context(), key, "another program's", 0).Err())
	for i, err := range s.Renew(t.Context(), grants) {
		if i != 3 {
			require.NoError(t, err, i)
			continue
		}
		var fault *redislease.KeyError
		require.ErrorAs(t, err, &fault)
		require.Equal(t, []string{key}, fault.Keys)
		require.ErrorIs(t, err, protocol.ErrRecord)
		require.ErrorIs(t, err, protocol.ErrPermanent)
		require.ErrorContains(t, err, `renew "job3": key `+key+" holds something else")
	}
	_, err := s.Claim(t.Context(), claimOf("job3", 10, "a", "r2"))
	require.ErrorIs(t, err, protocol.ErrRecord)
	_, err = s.Sync(t.Context(), []protocol.Sync{{Name: "job1"}, {Name: "job3"}})
	require.ErrorIs(t, err, protocol.ErrRecord)
}
