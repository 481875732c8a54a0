package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/filetest"
	"github.com/solotick/solotick/cmd/worker/internal/workertest"
	"github.com/solotick/solotick/internal/redistest"
)

func TestDescribeIsTheOneViewOfAJob(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	config := func(schedule, more string) string {
		return filetest.Config(t, "redis: {url: \""+server.URL()+"\"}\nlease: {ttl: 3s}\njobs:\n"+
			"- {name: often, schedule: '"+schedule+"', timezone: Europe/Berlin, overlap: queue, rate: 1/10m, exec: {command: [sleep, '0.1']}}\n"+more)
	}
	path := config("* * * * * *", "")
	first := workertest.Start(t, path, "--http", "127.0.0.1:0", "--replica", "first")
	second := workertest.Start(t, config("*/1 * * * * *", ""), "--http", "127.0.0.1:0", "--replica", "second")
	first.Ready(http.StatusOK)
	second.Ready(http.StatusOK)
	ask := func(config string, args ...string) string {
		r := workertest.Do(t, nil, append(args, "--config", config)...)
		require.Equal(t, 0, r.Code, r.Stderr)
		return r.Stdout
	}
	wants := []string{
		`^often, namespace default, fleet time .* \+0100\n\n`,
		`schedule      \* \* \* \* \* \* Europe/Berlin\n`,
		`definition    revision [0-9a-f]{12} on first: as in this configuration\n`,
		`\n              revision [0-9a-f]{12} on second: differs from this configuration\n`,
		`policies      overlap queue; at_least_once, 3 takeovers at most; timeout none; 1 attempt\n`,
		`triggers 1/10m, burst 1\n`,
		`served by     first, second\n`,
		`paused        no\n`,
		`next          20.* \+0100\n              20.*\n`,
		`last success  .* succeeded on (first|second) in [1-9][0-9.]*m?s\n`,
		`outcomes      (\d+ skipped, )?\d+ succeeded`,
		`durations     median [1-9][0-9.]*m?s, longest .*, of \d+ runs?\n`,
		`\nSCHEDULED .*\n(.*  succeeded\n){1,2}$`,
	}
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		text := ask(path, "describe", "often", "-n", "2")
		for _, want := range wants {
			require.Regexp(c, want, text)
		}
	}, workertest.Patience, 50*time.Millisecond)

	// describe also finds a job that the file lacks, even after its last replica has died.
	without := filetest.Config(t, "redis: {url: \""+server.URL()+"\"}\njobs:\n- {name: other, schedule: '@yearly', log: {message: x}}\n")
	text := ask(without, "describe", "often")
	require.Contains(t, text, "it is not in this configuration")
	require.Regexp(t, `schedule      \S+ \* \* \* \* \* Europe/Berlin\n`, text, "the fleet's record has it")
	require.Regexp(t, `next          20.* \+0100\n`, text)
	for _, p := range []*workertest.Process{first, second} {
		require.NoError(t, p.Cmd.Process.Kill())
		p.Exit()
	}
	require.Eventually(t, func() bool {
		return strings.Contains(ask(without, "describe", "often"), "served by     no live replica\n")
	}, workertest.Patience, 100*time.Millisecond)
	require.Contains(t, ask(without, "history", "often"), "succeeded")
	require.Contains(t, ask(without, "status", "often"), "not in this configuration")
	require.Regexp(t, `first .*, gone\n`, ask(without, "status"), "it did not sign off")
	require.Equal(t, 2, workertest.Do(t, nil, "describe", "nobody", "--config", without).Code)
}

func TestDescribeShowsTheDefinitionOfEachReplica(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	config := func(overlap, url, env string) string {
		return filetest.Config(t, "redis: {url: \""+server.URL()+"\"}\nlease: {ttl: 3s}\njobs:\n"+
			"- {name: sync, schedule: '@yearly', overlap: "+overlap+", exec: {command: [curl, '"+url+"'], env: {TOKEN: "+env+"}}}\n")
	}
	path := config("forbid", "https://me:s3cret@a.example/x", "s3cret")
	for id, path := range map[string]string{"r1": path, "r2": path, "r3": config("queue", "https://b.example", "other")} {
		workertest.Start(t, path, "--http", "127.0.0.1:0", "--replica", id).Ready(http.StatusOK)
	}
	ask := func(args ...string) string {
		r := workertest.Do(t, nil, append([]string{"describe", "sync", "--config", path}, args...)...)
		require.Equal(t, 0, r.Code, r.Stderr)
		require.NotContains(t, r.Stdout, "s3cret")
		return r.Stdout
	}
	var text string
	require.Eventually(t, func() bool {
		text = ask()
		return strings.Contains(text, "differs: ") && strings.Contains(text, " on r1, r2: ")
	}, workertest.Patience, 50*time.Millisecond)
	for _, want := range []string{
		`definition    revision [0-9a-f]{12} on r1, r2: as in this configuration\n`,
		`              catch_up_window 1h0m0s; .*exec.command curl https://a.example/\(hidden\); exec.env.TOKEN \(hidden\); .*overlap forbid; .*schedule @yearly; `,
		`              revision [0-9a-f]{12} on r3: differs from this configuration\n`,
		`              the replicas differ: give them all the same configuration\n`,
		`              differs: exec.command: curl https://a.example/\(hidden\) \([0-9a-f]{12}\), curl https://b.example \([0-9a-f]{12}\)\n`,
		`              differs: overlap: forbid \([0-9a-f]{12}\), queue \([0-9a-f]{12}\)\npolicies `,
	} {
		require.Regexp(t, want, text)
	}
	var j struct {
		Definitions []struct {
			Replicas []string
			Fields   map[string]string
		}
		Differences []string
	}
	require.NoError(t, json.Unmarshal([]byte(ask("--output", "json")), &j))
	require.Equal(t, []string{"exec.command", "overlap"}, j.Differences)
	require.Equal(t, []string{"r1", "r2"}, j.Definitions[0].Replicas)
	require.Equal(t, "queue", j.Definitions[1].Fields["overlap"])
}
