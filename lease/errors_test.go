package lease_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease"
)

func TestErrorsMatchTheirSentinelsAndSayWhy(t *testing.T) {
	lost := &lease.LostError{Name: "job", Token: 7, Reason: protocol.LostExpired, LastErr: errDown}
	require.ErrorIs(t, lost, lease.ErrLost)
	require.ErrorIs(t, lost, errDown)
	require.NotErrorIs(t, lost, lease.ErrHeld)
	require.EqualError(t, lost, `lease: lost "job", token 7: expired: the store is down`)
	require.EqualError(t, &lease.LostError{Name: "job", Token: 7, Reason: protocol.LostFenced}, `lease: lost "job", token 7: fenced`)

	held := &lease.HeldError{Name: "job", Holder: "b", Remaining: time.Second}
	require.ErrorIs(t, held, lease.ErrHeld)
	require.NotErrorIs(t, held, lease.ErrLost)
	require.NotErrorIs(t, held, errDown)
}
