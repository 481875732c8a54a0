package stores

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/config"
)

func TestEverySchemeOpensItsStore(t *testing.T) {
	require.ElementsMatch(t, slices.Collect(maps.Keys(config.ServerURLs)), slices.Collect(maps.Keys(servers)))
	for scheme, example := range config.ServerURLs {
		cfg := config.Default()
		require.NoError(t, cfg.Set("store.url", example), scheme)
		s, err := Ask(cfg)
		require.NoError(t, err, scheme)
		require.Contains(t, s.Addr, "host")
		require.NotContains(t, s.Addr, "password")
		require.False(t, s.InProcess())
		require.NoError(t, s.Close())
		require.NoError(t, Check(cfg))
	}
}

func TestURLThatNoStoreReadsIsHidden(t *testing.T) {
	cfg := config.Default()
	require.NoError(t, cfg.Set("store.url", "postgres://u:hunter2%@h:x/db"))
	err := Check(cfg)
	require.ErrorContains(t, err, "store.url: pglease: url: ")
	require.NotContains(t, err.Error(), "hunter2")
}
