package redislease_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/lease/driver/drivertest"
	"github.com/solotick/solotick/lease/redislease"
)

func TestIndexesOfNamespacesAreApart(t *testing.T) {
	srv := redistest.Start(t)
	drivertest.Apart(t, redislease.Medium(openIn(t, srv.Addr(), "a")), redislease.Medium(openIn(t, srv.Addr(), "b")))
}

// The scripts of a grace have a key more.
func TestIndexIsKeptWithAFailoverGrace(t *testing.T) {
	srv := redistest.Start(t)
	drivertest.Run(t, func(t *testing.T) driver.Store {
		srv.Flush()
		return redislease.Medium(open(t, srv.Addr(), redislease.WithFailoverGrace(time.Minute)))
	})
}

func TestDueIsOneCommand(t *testing.T) {
	r := newRig(t)
	index := redislease.Medium(r.store).(driver.Index)
	shares := make([]int, driver.Shares)
	for i := range shares {
		shares[i] = i
	}
	look := func() {
		_, err := index.Due(t.Context(), "job", shares, time.Now(), 100)
		require.NoError(t, err)
	}
	look()
	r.proxy.ResetCounts()
	look()
	require.Equal(t, map[string]int{"EVALSHA": 1}, used(r.proxy))
}

// A key of another program in place of an index fails the changes that name it, and nothing else.
func TestBadIndexFailsOnlyItsChanges(t *testing.T) {
	srv := redistest.Start(t)
	values, admin := redislease.Medium(open(t, srv.Addr())), srv.Client(t)
	key := redislease.Key("default", "job/a")
	prefix, _, _ := strings.Cut(key, "}")
	due, names := fmt.Sprintf("%s}due:job/%d", prefix, driver.ShareOf("job/a")), prefix+"}keys:job"
	put := func(key string) driver.Op {
		return driver.Op{Key: key, Change: &driver.Change{ID: "r", Data: []byte("x"), Due: time.Now()}}
	}
	var fault *redislease.KeyError
	for index, others := range map[string][]string{due: {"job/b", "job/c"}, names: {"job/d", "job/e"}} {
		require.NoError(t, admin.Set(t.Context(), index, "another program's", 0).Err())
		results := values.Do(t.Context(), []driver.Op{put(others[0]), put("job/a"), put(others[1])})
		require.ErrorAs(t, results[1].Err, &fault)
		require.Equal(t, []string{key, due, names}, fault.Keys)
		require.EqualValues(t, 0, admin.Exists(t.Context(), key).Val())
		require.Equal(t, driver.Done, results[0].Status)
		require.Equal(t, driver.Done, results[2].Status)

		var err error
		if index == due {
			_, err = values.(driver.Index).Due(t.Context(), "job", []int{driver.ShareOf("job/a")}, time.Now(), 1)
		} else {
			_, _, err = values.Scan(t.Context(), "job/", "", 1)
		}
		require.ErrorAs(t, err, &fault)
		require.Contains(t, fault.Keys, index)
		require.NoError(t, admin.Del(t.Context(), index).Err())
	}
	require.Equal(t, driver.Done, values.Do(t.Context(), []driver.Op{put("job/a")})[0].Status)
	require.EqualValues(t, 1, admin.ZCard(t.Context(), due).Val())
	require.Equal(t, []string{"\na\n"}, admin.ZRange(t.Context(), names, 0, -1).Val())
}

// A value that was not kept any longer stays listed until a change removes it.
func TestRemovalTakesAnExpiredKeyOutOfTheIndex(t *testing.T) {
	onMedium(t, func(m *medium) {
		due := func() []driver.DueKey {
			list, err := m.Store.(driver.Index).Due(t.Context(), "job", []int{driver.ShareOf("job/a")}, time.Now(), 9)
			require.NoError(t, err)
			return list
		}
		m.made("job/a", driver.Version{}, driver.Change{Data: []byte("x"), Keep: time.Millisecond, Due: time.Now()})
		require.Eventually(t, func() bool { return m.read("job/a").Version.Stamp == 0 }, 10*time.Second, time.Millisecond)
		require.Len(t, due(), 1)
		m.made("job/a", driver.Version{}, driver.Change{})
		require.Empty(t, due())
	})
}

// While a slot moves, a value and its index may be on two servers. A change is made on both or fails.
func TestIndexIsThatOfItsValuesWhileItsSlotMoves(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	m := &medium{T: t, Store: redislease.Medium(openFor(t, redis.NewClusterClient(c.options())))}
	tag, shares, keys := driver.ShareOf("job/k0")%16, []int{}, []string{}
	for share := tag; share < driver.Shares; share += 16 {
		shares = append(shares, share)
	}
	for i := 0; len(keys) < 20; i++ {
		if key := fmt.Sprint("job/k", i); driver.ShareOf(key)%16 == tag {
			keys = append(keys, key)
		}
	}
	versions, want, base := map[string]driver.Version{}, map[string]int64{}, time.Now().UnixMilli()
	failed := 0
	round := func(n int64, keys []string) {
		for i, key := range keys {
			due := base + n*100 + int64(i)
			op := driver.Op{Key: key, Change: &driver.Change{From: versions[key], ID: fmt.Sprint("r", n), Data: []byte("x"), Due: time.UnixMilli(due)}}
			if r := m.Do(t.Context(), []driver.Op{op})[0]; r.Err == nil {
				require.Equal(t, driver.Done, r.Status)
				versions[key], want[key] = r.Version, due
			} else {
				require.ErrorContains(t, r.Err, "TRYAGAIN")
				failed++
			}
		}
	}
	round(0, keys[:10])
	key := redislease.Key("default", keys[0])
	slot, err := c.admins[0].ClusterKeySlot(t.Context(), key).Result()
	require.NoError(t, err)
	from := c.nodeOfKey(t, key)
	c.move(t, slot, from, (from+1)%3, func(remaining int) { round(int64(remaining+1), keys[:10]) })
	require.Positive(t, failed)
	require.Eventually(t, func() bool { failed = 0; round(100, keys); return failed == 0 }, 20*time.Second, 100*time.Millisecond)
	list, err := m.Store.(driver.Index).Due(t.Context(), "job", shares, time.Now().Add(time.Hour), 100)
	require.NoError(t, err)
	got := map[string]int64{}
	for _, d := range list {
		got[d.Key] = d.At.UnixMilli()
	}
	require.Equal(t, want, got)
}

// There may be millions, and a look at the fleet passes them all.
func TestScanAsksForNoStoredSchedule(t *testing.T) {
	r := newRig(t)
	values := redislease.Medium(r.store)
	for _, key := range []string{"job", "job/a", "job/b"} {
		require.NoError(t, values.Do(t.Context(), []driver.Op{{Key: key, Change: &driver.Change{ID: "r", Data: []byte("x")}}})[0].Err)
	}
	r.proxy.ResetCounts()
	keys, _, err := values.Scan(t.Context(), "", "", 100)
	require.NoError(t, err)
	require.Contains(t, keys, "job/b")
	require.Equal(t, map[string]int{"SCAN": 1, "EVALSHA": 1}, used(r.proxy))
}

// However rare the prefix is.
func TestKeysOfAJobAreListedByOneCommand(t *testing.T) {
	r := newRig(t)
	values := redislease.Medium(r.store)
	var ops []driver.Op
	for i := range 5000 {
		ops = append(ops, driver.Op{Key: fmt.Sprintf("job/k%04d", i), Change: &driver.Change{ID: "r", Data: []byte("x")}})
	}
	for _, res := range values.Do(t.Context(), ops) {
		require.NoError(t, res.Err)
	}
	list := func(prefix string) []string {
		keys, next, err := values.Scan(t.Context(), prefix, "", 100)
		require.NoError(t, err)
		require.Equal(t, len(keys) == 100, next != "")
		return keys
	}
	list("job/")
	r.proxy.ResetCounts()
	require.Equal(t, []string{"job/k4321"}, list("job/k4321"))
	require.Equal(t, "job/k0000", list("job/")[0])
	require.Equal(t, map[string]int{"EVALSHA": 2}, used(r.proxy))
}
