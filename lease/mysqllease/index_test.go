package mysqllease_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/lease/driver/drivertest"
	"github.com/solotick/solotick/lease/mysqllease"
)

func TestIndexesOfNamespacesAreApart(t *testing.T) {
	t.Parallel()
	url := database(t)
	other, err := mysqllease.Open(url, "other")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, other.Close()) })
	drivertest.Apart(t, open(t, url).Values(), other.Values())
}

// Tables that the first release made get what they lack, once, and keep what they have. A replica
// that has them open goes on.
func TestOlderTablesAreBroughtUpToDate(t *testing.T) {
	t.Parallel()
	first, err := os.ReadFile("0001.sql")
	require.NoError(t, err)
	server, err := shared()
	require.NoError(t, err)
	url := databaseOn(t, server)
	name := url[strings.LastIndex(url, "/")+1:] + ".solotick_"
	for statement := range strings.SplitSeq(strings.TrimSpace(string(first)), ";\n") {
		statement = strings.Replace(statement, "item_key  VARCHAR(272)", "item_key  VARCHAR(160)", 1)
		run(t, server, strings.Replace(statement, "EXISTS solotick_", "EXISTS "+name, 1))
	}
	run(t, server, "INSERT INTO "+name+"store VALUES (1, 1, 1, 0)", "INSERT INTO "+name+"item VALUES ('fleet', 'job', 7, 'r', 'kept', '[]', 0, 0, 0)")
	var stores [8]*mysqllease.Store
	var all sync.WaitGroup
	for i := range stores {
		stores[i] = open(t, url)
		all.Go(func() { stores[i].Values().Do(t.Context(), []driver.Op{{Key: "job"}}) })
	}
	all.Wait()
	for i, s := range stores {
		require.Equal(t, driver.Version{Stamp: 7, ID: "r"}, read(t.Context(), s, "job").Value.Version)
		res := change(t.Context(), s, fmt.Sprint("job/", i), driver.Change{ID: "r", Data: []byte("x"), Due: time.Unix(int64(i), 0)})
		require.NoError(t, res.Err)
	}
	long := "journal:" + strings.Repeat("j", 128) + "/" + strings.Repeat("k", 128)
	changed(t, stores[0], long, driver.Version{}, "wide")
	require.NoError(t, stores[0].Values().Do(t.Context(), []driver.Op{{Key: long, Append: []driver.Entry{{ID: "e", Max: 1}}}})[0].Err)
	require.Contains(t, due(t, stores[0]), driver.DueKey{Key: "job/3", At: time.Unix(3, 0).UTC()})
}

func due(t *testing.T, s *mysqllease.Store) []driver.DueKey {
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
	url := database(t)
	drivertest.Expires(t, open(t, url).Values(), open(t, url).Values())
}
