package sdnotify

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAbstractSocketsWork(t *testing.T) {
	name := "@solotick-test-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	next := listen(t, name)
	n, err := FromEnvironment(variables(map[string]string{"NOTIFY_SOCKET": name}))
	require.NoError(t, err)
	require.NoError(t, n.Stopping())
	require.Equal(t, "STOPPING=1", next())
}
