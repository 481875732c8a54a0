package redislease_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/redistest"
)

func TestAPayloadOutlivesARestartOfRedis(t *testing.T) {
	srv := redistest.Start(t, redistest.WithAOF())
	s := open(t, srv.Addr())
	synced(t, s, "job")
	trigger := protocol.Trigger{Name: "job", By: "ops", Request: "t1", Payload: "tenant 7"}
	a, err := s.Trigger(t.Context(), trigger)
	require.NoError(t, err)
	srv.Restart()

	other := open(t, srv.Addr()) // one that has not seen it
	c := claimOf("job", a.Tick, "b", "r")
	c.OnlyOpen = true
	answer, err := other.Claim(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, protocol.Granted, answer.Status)
	require.Equal(t, "tenant 7", answer.Payload)
}
