package config

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every way to write redis, and all other settings, with values that are not the defaults.
var everySetting = []string{
	"testdata/every-key.yaml", "testdata/redis-cluster.yaml", "testdata/redis-sentinel.yaml", "testdata/redis-quorum.yaml", "testdata/store.yaml",
}

func TestEverySettingIsEitherFixedOrApplied(t *testing.T) {
	found := map[string]bool{}
	for _, file := range everySetting {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		c, err := Parse(file, text, nil)
		require.NoError(t, err)
		for _, path := range NeedsRestart(Default(), c) {
			found[path] = true
		}
		require.Empty(t, NeedsRestart(c, c))
	}
	var live []string
	for _, r := range rowsOf(topKeys, "", Default()) {
		switch {
		case r.live:
			live = append(live, r.path)
			require.NotContains(t, found, r.path)
		case r.values == "a mapping" && r.path != "redis.tls", strings.HasPrefix(r.path, "redis.tls."):
		default:
			require.Contains(t, found, r.path)
		}
		delete(found, r.path)
	}
	require.Empty(t, found)
	require.Equal(t, []string{"log.level", "defaults", "jobs"}, live, "what cmd/worker applies")
}

func TestAnEmptyListNeedsNoRestart(t *testing.T) {
	a, b := Default(), Default()
	b.Groups = []string{}
	require.Empty(t, NeedsRestart(a, b))
	b.Groups = []string{"eu"}
	require.Equal(t, []string{"groups"}, NeedsRestart(a, b))
	b = Default()
	b.HTTP.Addr.Given = true
	require.Equal(t, []string{"http.addr"}, NeedsRestart(a, b), "the default address gives way, one that is written does not")
}
