package sqlitelease

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// When a call's context ends, run may drop it before the caller takes it back, and with nothing left
// pending it waits for no lock any more.
func TestCallDroppedBehindALockNamesIt(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := &call{ctx: ctx}
	l := &lane{file: &file{path: t.TempDir()}, pending: []*call{c}, runs: true, waits: time.Now().Add(-time.Minute)}
	l.run()
	require.ErrorIs(t, l.gone(c), errLocked)
}
