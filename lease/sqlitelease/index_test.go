package sqlitelease_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/lease/driver/drivertest"
	"github.com/solotick/solotick/lease/sqlitelease"
)

func TestIndexesOfNamespacesAreApart(t *testing.T) {
	t.Parallel()
	one := open(t, "").Hasten()
	other, err := sqlitelease.New(one.Path(), "other")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, other.Close()) })
	drivertest.Apart(t, one.Values(), other.Values())
}

// A file that the first release made gets what it lacks, once, and keeps what it has.
func TestOlderTablesAreBroughtUpToDate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "solotick.db")
	before := open(t, path)
	kept := changed(t, before, "job", driver.Version{}, "kept")
	require.NoError(t, before.Close())
	first, err := os.ReadFile("0001.sql")
	require.NoError(t, err)
	old := filepath.Join(t.TempDir(), "solotick.db")
	sqlOn(t, old, fmt.Sprintf(`PRAGMA journal_mode = wal; %s PRAGMA application_id = 0x736f6c6f; PRAGMA user_version = 1; ATTACH '%s' AS new;
		INSERT INTO store SELECT * FROM new.store; INSERT INTO item SELECT * FROM new.item`, first, path))
	var stores [8]*sqlitelease.Store
	var opened sync.WaitGroup
	for i := range stores {
		stores[i] = open(t, old, sqlitelease.WithExistingFile())
		opened.Go(func() { stores[i].Values().Do(t.Context(), []driver.Op{{Key: "job"}}) })
	}
	opened.Wait()
	for i, s := range stores {
		require.Equal(t, kept, read(t.Context(), s, "job").Value.Version)
		res := change(t.Context(), s, fmt.Sprint("job/", i), driver.Change{ID: "r", Data: []byte("x"), Due: time.Unix(int64(i), 0)})
		require.NoError(t, res.Err)
	}
	due, err := stores[0].Values().(driver.Index).Due(t.Context(), "job", []int{driver.ShareOf("job/3")}, time.Now(), 9)
	require.NoError(t, err)
	require.Contains(t, due, driver.DueKey{Key: "job/3", At: time.Unix(3, 0).UTC()})
}
