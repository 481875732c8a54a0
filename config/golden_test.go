package config_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/config"
)

var update = flag.Bool("update", false, "write testdata/faults.txt")

// testdata/faults.txt holds the text of every fault of the tables, so that a change of one is seen.
func TestTheTextsOfFaultsAreKnown(t *testing.T) {
	var b strings.Builder
	for _, part := range append(slices.Clone(faultTables), manyFaults) {
		for _, test := range part {
			yaml, _ := unmark(test.yaml)
			_, err := config.Parse("f", []byte(yaml), testEnv)
			fmt.Fprintf(&b, "%s\n%v\n\n", test.name, err)
		}
	}
	if *update {
		require.NoError(t, os.WriteFile("testdata/faults.txt", []byte(b.String()), 0o600))
	}
	want, err := os.ReadFile("testdata/faults.txt")
	require.NoError(t, err)
	have := strings.Split(b.String(), "\n\n")
	for i, one := range strings.Split(string(want), "\n\n") {
		require.Equal(t, one, have[min(i, len(have)-1)], "go test ./config -update writes the file; read what changed")
	}
	require.Equal(t, len(want), b.Len())
}

// manyFaults are of many keys at once.
var manyFaults = []bad{
	raw("every key is a list", `
namespace: []
replica: []
groups: [[]]
max_runs: []
lease: {ttl: []}
http: {addr: []}
shutdown_grace: []
log: {level: [], format: []}
`+aJob),
	raw("every key of redis is a list", `
redis: {url: [], addrs: [[]], cluster: [], master: [], quorum: [[]], username: [], password: [], database: [],
  sentinel_username: [], sentinel_password: [], tls: [], wait_replicas: [], failover_grace: []}
`+aJob),
	job("every policy is a list", `leader: []
timezone: []
timeout: []
retry: {max_attempts: [], backoff: [], max_backoff: []}
delivery: []
max_takeovers: []
overlap: []
misfire_grace: []
misfire: []
catch_up_window: []
max_catch_up: []
jitter: []
rate: []
burst: []
groups: [[]]
weight: []
paused: []`),
	job("every policy is wrong", `timezone: x
timeout: -1s
retry: {max_attempts: 0, backoff: -1s, max_backoff: -2s}
delivery: x
max_takeovers: -1
overlap: x
misfire_grace: -1s
misfire: x
catch_up_window: -1s
max_catch_up: -1
jitter: -1s
rate: x
burst: -1
groups: ["-"]
weight: 0
paused: maybe`),
	raw("every key without a value", "namespace:\nredis: \nlease:\nhttp:\nlog:\ndefaults:\njobs: \n"),
	bare("every kind without a value", "name:\nschedule:\nexec: \nhttp: \nlog: \nredis_stream: "),
	bare("every kind is empty", "name: a\nschedule: '@daily'\nexec: {}\nhttp: {}\nlog: {}\nredis_stream: {}"),
	raw("every key in defaults", `
defaults: {name: a, schedule: b, leader: true, exec: {}, http: {}, log: {}, redis_stream: {}, timeout: -1s,
  retry: {max_attempts: 0, backoff: -1s, max_backoff: -1s}, delivery: x, max_takeovers: -1, overlap: x, misfire_grace: -1s,
  misfire: x, catch_up_window: -1s, max_catch_up: -1, jitter: -1s, rate: x, burst: -1, groups: ["-"], weight: 0,
  paused: maybe, timezone: x, nope: 1}
`+aJob),
	raw("unknown keys everywhere", `
redis: {url: "redis://h", tls: {ca: x}, ttl: 1s, failovergrace: 0s}
lease: {x: 1}
http: {adr: x, port: 1}
log: {leval: x}
defaults: {x: 1, retry: {x: 1}}
wait_replicas: 1
jobs:
- {name: a, schedule: "@daily", exec: {comand: x}, http: {uri: x}, redis_stream: {key: x}, log: {text: x}}
`),
}
