package config_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/config"
)

func TestAliasesAndMergeKeysWork(t *testing.T) {
	c := parse(t, `
namespace: &n billing
replica: *n
jobs:
- &first
  name: a
  schedule: &daily "@daily"
  log: &say {message: hello}
  timeout: &t 5m
  retry: {max_attempts: 2}
- {name: b, schedule: *daily, log: *say, timeout: *t, groups: [*n]}
- <<: *first
  name: c
  retry: {backoff: 3s}
- name: d
  <<: [{timeout: 1m, jitter: 1s}, {timeout: 2m, max_catch_up: 5}, *first]
- <<: {<<: {timeout: 7s, name: far}, jitter: 2s}
  name: e
  schedule: *daily
  log: *say
`)
	require.Equal(t, "billing", c.Replica)
	specs := map[string]string{}
	for _, j := range c.Jobs {
		require.Equal(t, config.NewSecret(config.Log{Message: "hello"}), j.Log)
		require.Equal(t, "@daily", j.Spec.Schedule)
		specs[j.Spec.Name] = fmt.Sprint(j.Spec.Timeout, j.Spec.Jitter, j.Spec.MaxCatchUp, j.Spec.Retry, j.Spec.Groups)
	}
	require.Equal(t, map[string]string{
		"a": "5m0s 0s 100 {2 1s 1m0s} []",
		"b": "5m0s 0s 100 {1 1s 1m0s} [billing]",
		"c": "5m0s 0s 100 {1 3s 1m0s} []",
		"d": "1m0s 1s 5 {2 1s 1m0s} []",
		"e": "7s 2s 100 {1 1s 1m0s} []",
	}, specs)
}

// bombs are small files whose aliases stand for far more than fits in memory, or without end.
func bombs() map[string]string {
	lol := "a0: &a0 [lol, lol]\n"
	merges := "a0: &a0 {timeout: 1s}\n"
	for i := 1; i < 60; i++ {
		lol += fmt.Sprintf("a%d: &a%d [*a%d, *a%d]\n", i, i, i-1, i-1)
		merges += fmt.Sprintf("a%d: &a%d {<<: [*a%d, *a%d]}\n", i, i, i-1, i-1)
	}
	wide := "groups: &g [" + strings.Repeat("a,", 5_000) + "]\njobs:\n" + strings.Repeat("- {groups: *g}\n", 5_000)
	return map[string]string{
		"lists of lists where names are due":   lol + "groups: *a59\n" + aJob,
		"lists of lists where jobs are due":    lol + "jobs: *a59\n",
		"mappings that merge mappings":         merges + "jobs: [{name: a, <<: *a59}]\n",
		"a long list in many jobs":             wide,
		"a list in itself":                     "jobs: &j [*j, *j]\ngroups: *j\n",
		"a job in its own environment":         "jobs:\n- &j {name: a, schedule: '@daily', exec: {command: [x], env: *j}}\n",
		"defaults that merge the whole file":   "&all\ndefaults: {<<: *all}\n" + aJob,
		"many merges of one mapping in a list": "defaults: &d {timeout: 1s}\njobs:\n" + strings.Repeat("- {<<: ["+strings.Repeat("*d,", 100)+"]}\n", 100),
	}
}

func TestAliasesCannotBlowUp(t *testing.T) {
	for name, yaml := range bombs() {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			_, err := config.Parse("f", []byte(yaml), noEnv)
			elapsed := time.Since(start)
			runtime.ReadMemStats(&after)

			require.Error(t, err)
			// Without a limit, the least of them takes several times as much, and most take
			// forever.
			require.Less(t, elapsed, 30*time.Second)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(512<<20))
			t.Log(elapsed, (after.TotalAlloc-before.TotalAlloc)>>20, "MiB", len(err.Error()), "bytes of errors")
		})
	}
}

func TestTooManyAliasedValuesAreOneError(t *testing.T) {
	_, err := config.Parse("f", []byte(bombs()["a long list in many jobs"]), noEnv)
	require.ErrorContains(t, err, "the aliases of this file exceed the number of values that they may stand for; use fewer")
	require.Equal(t, 1, strings.Count(err.Error(), "exceed the number of values"))
}

func TestManyAliasesAreAccepted(t *testing.T) {
	var b strings.Builder
	b.WriteString("jobs:\n- &first\n  name: a\n  schedule: '@daily'\n  exec: {command: [x], env: {A: 1, B: 2, C: 3, D: 4}}\n  retry: {max_attempts: 2}\n  timeout: 1s\n")
	for i := range 1_000 {
		fmt.Fprintf(&b, "- {<<: *first, name: b%d}\n", i)
	}
	require.Len(t, parse(t, b.String()).Jobs, 1_001)
}
