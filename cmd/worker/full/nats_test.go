package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/doctor"
	"github.com/solotick/solotick/cmd/worker/internal/workertest"
	"github.com/solotick/solotick/internal/natstest"
)

func TestWorkersOnNATSRunEachTickOnce(t *testing.T) {
	t.Parallel()
	server := natstest.Start(t, natstest.WithConf("authorization { user: app, password: s3cret }"))
	path := workertest.SettleOnce(t, strings.Replace(server.URL(), "//", "//app:s3cret@", 1)+"/ticks", server.Restart)
	found := workertest.Diagnosed(t, path, 0)
	require.Contains(t, found["reachable"].Finding, server.Addr()+"/ticks answers in")
	for _, check := range []string{"copies", "durability", "room", "writes", "clock"} {
		require.Equal(t, doctor.OK, found[check].Result, "%s: %+v", check, found[check])
	}

	server.Kill()
	require.Contains(t, workertest.Diagnosed(t, path, 1)["reachable"].Change, "see that NATS runs")
}
