package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/filetest"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/redislease"
)

// Another program's value where a record would be costs that job, and no other, also at a start and
// among renewals.
func TestARecordOfTheWrongTypeIsNamed(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.WithAOF())
	client := server.Client(t)
	path := filetest.Config(t, "redis: {url: '"+server.URL()+"'}\nlease: {ttl: 2s}\n"+oneJob+
		strings.Replace(oneJob[len("\njobs:\n"):], "hello", "wrong", 1)+strings.ReplaceAll(leaderJob, "leads", "held"))
	key := redislease.Key("default", "wrong")
	const message = "a record cannot be read, so its job does not run; the others do"

	first := start(t, path, "--http", "127.0.0.1:0", "--replica", "first")
	first.ready(http.StatusOK)
	require.Eventually(t, func() bool { return first.settled("wrong") > 0 }, patience, 5e6)
	require.NoError(t, client.Set(t.Context(), key, "another program's", 0).Err())
	said := first.await(message)
	require.Equal(t, "ERROR", said["level"])
	require.Contains(t, said["error"], "key "+key+" holds something else, by another program: rename or remove it: WRONGTYPE")

	second := start(t, path, "--http", "127.0.0.1:0", "--replica", "second")
	second.ready(http.StatusOK)
	require.Contains(t, second.await(message)["error"], key)
	before := first.settled("hello") + second.settled("hello")
	require.Eventually(t, func() bool { return first.settled("hello")+second.settled("hello") >= before+5 }, patience, 5e6)
	for _, p := range []*process{first, second} {
		require.LessOrEqual(t, len(p.all(message)), 4, "not again and again") // for each call that met it
		require.Empty(t, p.all("store does not answer; nothing starts until it does"))
		require.Empty(t, p.all("run lost"))
	}
	r := do(t, nil, "trigger", "wrong", "--config", path)
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "key "+key+" holds something else")

	require.NoError(t, client.Del(t.Context(), key).Err())
	ran := first.settled("wrong") + second.settled("wrong")
	require.Eventually(t, func() bool { return first.settled("wrong")+second.settled("wrong") >= ran+2 }, patience, 5e6)
}
