package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/workertest"
	"github.com/solotick/solotick/internal/redistest"
)

var emptyStores = map[string]workertest.EmptyStore{
	"Redis": func(t *testing.T) (string, func() []string) {
		server := redistest.Start(t)
		return fmt.Sprintf("redis: {url: %q}", server.URL()), func() []string { return server.Client(t).Keys(t.Context(), "*").Val() }
	},
	"quorum": func(t *testing.T) (string, func() []string) {
		var servers []*redistest.Server
		var urls []string
		for range 3 {
			s := redistest.Start(t)
			servers, urls = append(servers, s), append(urls, s.URL())
		}
		return "redis: {quorum: " + workertest.List("", urls...) + "}", func() (keys []string) {
			for _, s := range servers {
				keys = append(keys, s.Client(t).Keys(t.Context(), "*").Val()...)
			}
			return keys
		}
	},
	"SQLite": func(t *testing.T) (string, func() []string) {
		dir := t.TempDir()
		return fmt.Sprintf("store: {url: %q}", "sqlite:"+filepath.Join(dir, "solotick.db")), func() (names []string) {
			files, err := os.ReadDir(dir)
			require.NoError(t, err)
			for _, f := range files {
				names = append(names, f.Name())
			}
			return names
		}
	},
}

func TestCommandsMakeNothingBeforeAWorkerRuns(t *testing.T) {
	workertest.MakeNothing(t, emptyStores)
}
