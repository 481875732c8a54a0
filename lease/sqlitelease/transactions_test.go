package sqlitelease

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/lane"
)

// When a call's context ends, its batch may be dropped before the caller has noticed, and with
// nothing left pending nobody waits for a lock any more.
func TestCallDroppedBehindALockNamesIt(t *testing.T) {
	t.Parallel()
	c := new(call)
	l := newTransactions(&file{path: t.TempDir()}, beginWrite)
	l.note([]*lane.Call[*call, struct{}]{{Request: c}}, true)
	l.lane.Idle()
	require.ErrorIs(t, l.gone(c, context.Canceled), errLocked)
	require.NotErrorIs(t, l.gone(new(call), context.Canceled), errLocked)
}
