package sqlitelease_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/lease/driver/drivertest"
	"github.com/solotick/solotick/lease/leasetest"
	"github.com/solotick/solotick/lease/sqlitelease"
)

// open opens a store on a file, which is removed with the test's directory when path is empty.
func open(t testing.TB, path string, opts ...sqlitelease.Option) *sqlitelease.Store {
	t.Helper()
	if path == "" {
		path = filepath.Join(t.TempDir(), "solotick.db")
	}
	s, err := sqlitelease.New(path, "fleet", append([]sqlitelease.Option{sqlitelease.WithTimeout(20 * time.Second)}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestFileKeepsTheContract(t *testing.T) {
	drivertest.Run(t, func(t *testing.T) driver.Store { return open(t, "").Hasten().Values() })
}

func TestStoreKeepsTheContract(t *testing.T) {
	s := open(t, "").Hasten()
	leasetest.Run(t, func(*testing.T) lease.Store { return s },
		leasetest.WithForget(func(t *testing.T, s lease.Store) { remove(t, s.(*sqlitelease.Store).Path()) }),
		leasetest.WithClockStep(func(_ *testing.T, s lease.Store, d time.Duration) { s.(*sqlitelease.Store).Step(d) }))
}

// remove removes the file of a store, and the files beside it.
func remove(t testing.TB, path string) {
	t.Helper()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + suffix); !os.IsNotExist(err) {
			require.NoError(t, err)
		}
	}
}
