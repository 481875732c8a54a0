package redislease_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/proxytest"
)

func TestHeartbeatOfSameMembersIsOneShortCommand(t *testing.T) {
	r := newRig(t)
	info := []byte(strings.Repeat("x", 300))
	beat := func(i int, version string) protocol.Pulse {
		h := protocol.Heartbeat{Holder: fmt.Sprint("replica-", i), Info: info, Life: time.Minute, Version: version}
		p, err := r.store.Heartbeat(t.Context(), h)
		require.NoError(t, err)
		return p
	}
	var last protocol.Pulse
	for i := range 50 {
		last = beat(i, "")
	}
	require.Len(t, last.Members, 50)
	r.proxy.ResetCounts()
	for i := range 50 {
		require.Nil(t, beat(i, last.Version).Members)
	}
	require.Equal(t, 50, r.proxy.Commands())
	require.Less(t, r.proxy.Bytes(proxytest.Replies), int64(50*100))
}
