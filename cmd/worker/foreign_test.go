package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/filetest"
	"github.com/solotick/solotick/cmd/worker/internal/workertest"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/redislease"
)

// Another program's value where a record would be costs that job, and no other, also at a start and
// among renewals.
func TestARecordOfTheWrongTypeIsNamed(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.WithAOF())
	client := server.Client(t)
	path := filetest.Config(t, "redis: {url: '"+server.URL()+"'}\nlease: {ttl: 2s}\n"+workertest.OneJob+
		strings.Replace(workertest.OneJob[len("\njobs:\n"):], "hello", "wrong", 1)+strings.ReplaceAll(leaderJob, "leads", "held"))
	key := redislease.Key("default", "wrong")
	const message = "a record cannot be read, so its job does not run; the others do"

	first := workertest.Start(t, path, "--http", "127.0.0.1:0", "--replica", "first")
	first.Ready(http.StatusOK)
	require.Eventually(t, func() bool { return first.Settled("wrong") > 0 }, workertest.Patience, 5e6)
	require.NoError(t, client.Set(t.Context(), key, "another program's", 0).Err())
	said := first.Await(message)
	require.Equal(t, "ERROR", said["level"])
	require.Contains(t, said["error"], "key "+key+" holds something else, by another program: rename or remove it: WRONGTYPE")

	second := workertest.Start(t, path, "--http", "127.0.0.1:0", "--replica", "second")
	second.Ready(http.StatusOK)
	require.Contains(t, second.Await(message)["error"], key)
	before := first.Settled("hello") + second.Settled("hello")
	require.Eventually(t, func() bool { return first.Settled("hello")+second.Settled("hello") >= before+5 }, workertest.Patience, 5e6)
	for _, p := range []*workertest.Process{first, second} {
		require.LessOrEqual(t, len(p.All(message)), 4, "not again and again") // for each call that met it
		require.Empty(t, p.All("store does not answer; nothing starts until it does"))
		require.Empty(t, p.All("run lost"))
	}
	r := workertest.Do(t, nil, "trigger", "wrong", "--config", path)
	require.Equal(t, 1, r.Code)
	require.Contains(t, r.Stderr, "key "+key+" holds something else")

	require.NoError(t, client.Del(t.Context(), key).Err())
	ran := first.Settled("wrong") + second.Settled("wrong")
	require.Eventually(t, func() bool { return first.Settled("wrong")+second.Settled("wrong") >= ran+2 }, workertest.Patience, 5e6)
}
