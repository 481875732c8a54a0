//go:build unix

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/lease/driver/drivertest"
	"github.com/solotick/solotick/lease/leasetest"
)

func TestDirectoryKeepsTheContract(t *testing.T) {
	drivertest.Run(t, func(t *testing.T) driver.Store { return directory(t.TempDir()) })
}

func TestFileStoreKeepsTheContract(t *testing.T) {
	dirs := map[lease.Store]directory{}
	leasetest.Run(t, func(t *testing.T) lease.Store {
		dir := t.TempDir()
		s, err := NewFileStore(dir, "greetings")
		require.NoError(t, err)
		dirs[s] = directory(filepath.Join(dir, "greetings"))
		return s
	},
		leasetest.WithForget(func(t *testing.T, s lease.Store) {
			dir := dirs[s]
			files, err := filepath.Glob(dir.path("*", ".json"))
			require.NoError(t, err)
			for _, f := range append(files, dir.path(".since", ".json")) {
				if err := os.Remove(f); !os.IsNotExist(err) {
					require.NoError(t, err)
				}
			}
		}))
}
