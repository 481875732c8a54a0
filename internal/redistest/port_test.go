package redistest

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPortTakenByAnotherServerIsNotOurs(t *testing.T) {
	first, second := Start(t), Start(t)
	second.Kill()
	require.NoError(t, collect(nil).write(filepath.Join(second.dir, "redis.conf"), second.dir, first.port))

	_, err := launch(second.binary, second.dir, nil)

	require.ErrorIs(t, err, errPortTaken)
}
