package pglease_test

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/lease/driver/drivertest"
	"github.com/solotick/solotick/lease/pglease"
)

func TestIndexesOfNamespacesAreApart(t *testing.T) {
	t.Parallel()
	dsn := schema(t)
	drivertest.Apart(t, openIn(t, dsn, "a").Values(), openIn(t, dsn, "b").Values())
}

// Tables that the first release made get what they lack, once, and keep what they have. A replica
// that has them open goes on.
func TestOlderTablesAreBroughtUpToDate(t *testing.T) {
	t.Parallel()
	dsn := schema(t)
	first, err := os.ReadFile("0001.sql")
	require.NoError(t, err)
	sqlOn(t, dsn, string(first), "INSERT INTO solotick_store VALUES (1, 1, 1, 0)",
		"INSERT INTO solotick_item VALUES ('fleet', 'job', 7, 'r', 'kept', '[]', 0, 0, 0)")
	var stores [8]*pglease.Store
	var all sync.WaitGroup
	for i := range stores {
		stores[i] = open(t, dsn)
		all.Go(func() { stores[i].Values().Do(t.Context(), []driver.Op{{Key: "job"}}) })
	}
	all.Wait()
	for i, s := range stores {
		require.Equal(t, driver.Version{Stamp: 7, ID: "r"}, read(t.Context(), s, "job").Value.Version)
		res := change(t.Context(), s, fmt.Sprint("job/", i), driver.Change{ID: "r", Data: []byte("x"), Due: time.Unix(int64(i), 0)})
		require.NoError(t, res.Err)
	}
	require.Contains(t, due(t, stores[0]), driver.DueKey{Key: "job/3", At: time.Unix(3, 0).UTC()})
}

func due(t *testing.T, s *pglease.Store) []driver.DueKey {
	t.Helper()
	var shares []int
	for share := range driver.Shares {
		shares = append(shares, share)
	}
	list, err := s.Values().(driver.Index).Due(t.Context(), "job", shares, time.Now().Add(time.Hour), 9)
	require.NoError(t, err)
	return list
}

func TestExpiredKeyLeavesTheIndex(t *testing.T) {
	t.Parallel()
	dsn := schema(t)
	drivertest.Expires(t, open(t, dsn).Values(), open(t, dsn).Values())
}
