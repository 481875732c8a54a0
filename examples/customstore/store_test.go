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

// open opens a store in a directory of the test.
func open(t *testing.T, namespace string) lease.Store {
	t.Helper()
	s, err := NewFileStore(t.TempDir(), namespace)
	require.NoError(t, err)
	return s
}

func TestDirectoryKeepsTheContract(t *testing.T) {
	drivertest.Run(t, func(t *testing.T) driver.Store { return open(t, "greetings").(*FileStore).dir })
}

func TestFileStoreKeepsTheContract(t *testing.T) {
	leasetest.Run(t, func(t *testing.T) lease.Store { return open(t, "greetings") },
		leasetest.WithForget(func(t *testing.T, s lease.Store) {
			dir := s.(*FileStore).dir
			files, err := filepath.Glob(dir.path("*", ".json"))
			require.NoError(t, err)
			for _, f := range append(files, dir.path(".since", ".json")) {
				if err := os.Remove(f); !os.IsNotExist(err) {
					require.NoError(t, err)
				}
			}
		}))
}
