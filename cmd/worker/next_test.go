package main

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/filetest"
	"github.com/solotick/solotick/cmd/worker/internal/workertest"
)

// dst is the output of next on the eve of a clock change.
func dst(t *testing.T, when string, args ...string) (r workertest.Result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		at(t, when)
		r = workertest.Do(t, nil, append([]string{"next", "--config", "testdata/dst.yaml"}, args...)...)
	})
	return r
}

func TestNextPrintsZonesAndClockChanges(t *testing.T) {
	r := dst(t, "2026-03-27T12:00:00Z", "-n", "3")
	require.Equal(t, 0, r.Code)
	filetest.Golden(t, "next-spring.txt", r.Stdout)
	requireLines(t, r.Stderr, "warning: job nightly-report: 02:30 on 2026-03-29 does not exist in Europe/Berlin")

	r = dst(t, "2026-10-24T12:00:00Z", "-n", "6", "nightly-report", "quarter-past")
	require.Equal(t, 0, r.Code)
	filetest.Golden(t, "next-autumn.txt", r.Stdout)
	requireLines(t, r.Stderr,
		"warning: job nightly-report: 02:30 on 2026-10-25 comes twice in Europe/Berlin",
		"warning: job quarter-past: 02:00 to 02:45 on 2026-10-25 (4 ticks) come twice",
	)
}

func TestNextPrintsJSON(t *testing.T) {
	r := dst(t, "2026-03-27T12:00:00Z", "-n", "3", "--output", "json", "once", "nightly-report", "once")
	require.Equal(t, 0, r.Code)
	require.Empty(t, r.Stderr, "warnings are part of the JSON")
	filetest.Golden(t, "next.json", r.Stdout)
	require.True(t, json.Valid([]byte(r.Stdout)))
}

func TestNextPrintsFiveTicksUnlessAskedForMore(t *testing.T) {
	ticks := func(args ...string) int {
		r := dst(t, "2026-03-27T12:00:00Z", append(args, "often", "--output", "json")...)
		require.Equal(t, 0, r.Code, r.Stderr)
		var outlooks []struct{ Ticks []any }
		require.NoError(t, json.Unmarshal([]byte(r.Stdout), &outlooks))
		require.Len(t, outlooks, 1)
		return len(outlooks[0].Ticks)
	}
	require.Equal(t, 5, ticks())
	require.Equal(t, 1, ticks("-n", "1"))
	require.Equal(t, 1000, ticks("-n", "1000"))
}

func TestNextRefusesWrongArguments(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want []string
	}{
		"unknown jobs": {[]string{"nightly", "often", "x"}, []string{
			`"nightly" is not a job of this configuration; there are: nightly-report, quarter-past, often, once`,
			`"x" is not a job of this configuration`,
		}},
		"no ticks, no such output": {[]string{"-n", "0", "--output", "yaml"}, []string{
			"-n: 0 must be from 1 to 1000", `--output: "yaml" must be text or json`,
		}},
		"too many ticks": {[]string{"-n", "1001"}, []string{"-n: 1001 must be from 1 to 1000"}},
		"not a number":   {[]string{"-n", "five"}, []string{"invalid argument \"five\" for \"-n, --count\""}},
	} {
		t.Run(name, func(t *testing.T) {
			r := dst(t, "2026-03-27T12:00:00Z", test.args...)
			require.Equal(t, 2, r.Code)
			require.Empty(t, r.Stdout)
			for _, want := range test.want {
				require.Contains(t, r.Stderr, want)
			}
		})
	}
}

func TestNextSaysWhatOnlyTriggersRun(t *testing.T) {
	path := filetest.Config(t, "defaults: {jitter: 5s}\njobs: [{name: reindex, schedule: '@triggered', log: {message: x}}]\n")
	r := workertest.Do(t, nil, "next", "--config", path)
	require.Equal(t, workertest.Result{Stdout: "JOB      TICK  ZONE  NOTE\nreindex  -     UTC   only when it is triggered\n"}, r)
	require.Zero(t, workertest.Do(t, nil, "validate", "--config", path).Code, "a default jitter is not for it")

	r = workertest.Do(t, nil, "validate", "--config", filetest.Config(t, "jobs: [{name: a, schedule: '@triggered', jitter: 5s, log: {message: x}}]\n"))
	require.Equal(t, 2, r.Code)
	require.Contains(t, r.Stderr, `jitter: "5s" must be left out of a job that only triggers run`)
}

func TestNextSaysWhoseSchedulesLieInTheStore(t *testing.T) {
	r := workertest.Do(t, nil, "next", "--config", filetest.Config(t, "jobs: [{name: report, schedules: stored, log: {message: x}}]\n"))
	require.Equal(t, workertest.Result{Stdout: "JOB     TICK  ZONE  NOTE\nreport  -     UTC   by its schedules in the store\n"}, r)
}

const leaders = `
jobs:
- {name: indexer, leader: true, log: {message: x}}
- {name: sleeper, leader: true, paused: true, log: {message: x}}
`

func TestNextShowsLeaderTasksWithoutTicks(t *testing.T) {
	path := filetest.Config(t, leaders)
	r := workertest.Do(t, nil, "next", "--config", path)
	require.Equal(t, workertest.Result{Stdout: `JOB      TICK  ZONE  NOTE
indexer  -     UTC   leader task, runs all the time
sleeper  -     UTC   leader task, paused: does not run
`}, r)

	r = workertest.Do(t, nil, "next", "--config", path, "--output", "json", "indexer")
	require.Equal(t, 0, r.Code)
	require.JSONEq(t, `[{"job": "indexer", "schedule": "", "schedule_words": "", "timezone": "UTC", "leader": true, "paused": false, "ticks": [], "warnings": []}]`, r.Stdout)
}
