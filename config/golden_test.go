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
	require.Equal(t, string(want), b.String(), "go test ./config -update writes the file; read what changed")
}

// manyFaults are of many keys at once.
var manyFaults = []bad{
	raw("every key is a list", "namespace: []\nreplica: []\ngroups: [[]]\nmax_runs: []\nlease: {ttl: []}\nhttp: {addr: []}\nshutdown_grace: []\nlog: {level: [], format: []}\njobs: [{name: a, schedule: '@daily', log: {message: m}}]\n"),
	top("every key of redis is a list", "redis: {url: [], addrs: [[]], cluster: [], master: [], quorum: [[]], username: [], password: [], database: [], sentinel_username: [], sentinel_password: [], tls: [], wait_replicas: [], failover_grace: []}"),
	job("every policy is a list", "leader: []\ntimezone: []\ntimeout: []\nretry: {max_attempts: [], backoff: [], max_backoff: []}\ndelivery: []\nmax_takeovers: []\noverlap: []\nmisfire_grace: []\nmisfire: []\ncatch_up_window: []\nmax_catch_up: []\njitter: []\nrate: []\nburst: []\ngroups: [[]]\nweight: []\npaused: []"),
	raw("every key without a value"),
	bare("every kind without a value"),
	bare("every kind is empty"),
	top("every key in defaults"),
	top("unknown keys everywhere"),
}
