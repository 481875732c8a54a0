package mysqllease_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/proxytest"
	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/lease/mysqllease"
)

// through returns the URL of a database by way of a proxy.
func through(t testing.TB, url string) (*proxytest.Proxy, string) {
	t.Helper()
	addr, _, _ := strings.Cut(strings.TrimPrefix(url, "mysql://root@"), "/")
	p := proxytest.New(t, addr)
	return p, strings.Replace(url, addr, p.Addr(), 1)
}

// A process that is stopped between the statements of a transaction has its rows locked until the
// server closes its connection.
func TestStoppedProcessHoldsUpOthersForSeconds(t *testing.T) {
	t.Parallel()
	url := database(t)
	stopped, other := open(t, url), open(t, url)
	v := changed(t, stopped, "held", driver.Version{}, "before")
	require.NoError(t, stopped.LockRow(t.Context(), "held"))

	began := time.Now()
	changed(t, other, "free", driver.Version{}, "free")
	changed(t, other, "held", v, "after")
	require.GreaterOrEqual(t, time.Since(began), mysqllease.Held/2, "nothing was locked, so this proves nothing")
}

func TestKilledServerKeepsWhatItAnswered(t *testing.T) {
	t.Parallel()
	server := own(t)
	url := databaseOn(t, server)
	s := open(t, url, mysqllease.WithTimeout(5*time.Second))
	changed(t, s, "first", driver.Version{}, "first")
	var mu sync.Mutex
	answered := map[string]driver.Version{}
	var writers sync.WaitGroup
	killed := make(chan struct{})
	for w := range 4 {
		writers.Go(func() {
			for n := 0; ; n++ {
				key := fmt.Sprintf("k%d-%d", w, n)
				res := change(t.Context(), s, key, driver.Change{ID: "once", Data: []byte("x")})
				select {
				case <-killed:
					return
				default:
				}
				if res.Err == nil {
					mu.Lock()
					answered[key] = res.Version
					mu.Unlock()
				}
			}
		})
	}
	require.Eventually(t, func() bool { mu.Lock(); defer mu.Unlock(); return len(answered) > 50 }, time.Minute, time.Millisecond)
	server.Kill()
	close(killed)
	require.Error(t, read(t.Context(), s, "first").Err)
	require.NotEmpty(t, s.Hint(read(t.Context(), s, "first").Err))
	require.NoError(t, server.Restart())
	writers.Wait()
	for key, v := range answered {
		res := read(t.Context(), s, key)
		require.NoError(t, res.Err)
		require.Equal(t, v, res.Value.Version, key)
	}
}

func TestFrozenServerFailsCallsInTime(t *testing.T) {
	t.Parallel()
	server := own(t)
	url := databaseOn(t, server)
	s := open(t, url, mysqllease.WithTimeout(300*time.Millisecond))
	require.Eventually(t, func() bool {
		return change(t.Context(), s, "job", driver.Change{ID: "a", Data: []byte("a")}).Err == nil
	}, time.Minute, time.Millisecond)

	require.NoError(t, server.Freeze())
	began := time.Now()
	res := change(t.Context(), s, "other", driver.Change{ID: "late", Data: []byte("late")})
	require.Error(t, res.Err)
	require.NotErrorIs(t, res.Err, protocol.ErrPermanent)
	require.Less(t, time.Since(began), 20*time.Second)
	require.NoError(t, server.Thaw())

	require.Eventually(t, func() bool { return read(t.Context(), s, "job").Err == nil }, time.Minute, time.Millisecond)
	require.Equal(t, "a", string(read(t.Context(), s, "job").Value.Data))
}

// A change whose connection was cut at any moment is made once, however often it is repeated.
func TestCutConnectionsRepeatNoChange(t *testing.T) {
	t.Parallel()
	url := database(t)
	proxy, cut := through(t, url)
	s, direct := open(t, cut), open(t, url)
	v := driver.Version{}
	for n := range 20 {
		c := driver.Change{From: v, ID: fmt.Sprint("c", n), Data: []byte("x"), Append: []driver.Entry{{ID: fmt.Sprint("e", n), Max: 100}}}
		answer := make(chan driver.Result, 1)
		go func() { answer <- change(t.Context(), s, "job", c) }()
		time.Sleep(time.Duration(n) * 200 * time.Microsecond) // somewhere within its statements
		proxy.Cut()
		res := <-answer
		proxy.Heal()
		for res.Err != nil {
			require.NotErrorIs(t, res.Err, protocol.ErrPermanent)
			res = change(t.Context(), s, "job", c)
		}
		require.Equal(t, driver.Done, res.Status)
		v = res.Version
	}
	require.Equal(t, v, read(t.Context(), direct, "job").Value.Version)
	list := direct.Values().Do(t.Context(), []driver.Op{{Key: "job", Newest: 100}})[0].List
	require.Len(t, list, 20)
}

// What a partition held back, and delivers when its sender has given up, is not carried out: the
// server has closed the connection.
func TestPartitionedProcessHoldsUpNobodyForLong(t *testing.T) {
	t.Parallel()
	url := database(t)
	proxy, cut := through(t, url)
	away, other := open(t, cut), open(t, url)
	v := changed(t, away, "job", driver.Version{}, "before")
	require.NoError(t, away.LockRow(t.Context(), "job"))
	proxy.Partition()
	changed(t, other, "job", v, "after")
	proxy.Heal()
	res := read(t.Context(), away, "job")
	for res.Err != nil {
		res = read(t.Context(), away, "job")
	}
	require.Equal(t, "after", string(res.Value.Data))
}

func TestRestoredBackupRepeatsNoVersion(t *testing.T) {
	t.Parallel()
	server, err := shared()
	require.NoError(t, err)
	url := database(t)
	name := url[strings.LastIndex(url, "/")+1:]
	running := open(t, url)
	v1 := changed(t, running, "job", driver.Version{}, "one")
	run(t, server, "CREATE TABLE "+name+".backup AS SELECT * FROM "+name+".solotick_item")
	v2 := changed(t, running, "job", v1, "two")
	run(t, server, "REPLACE INTO "+name+".solotick_item SELECT * FROM "+name+".backup")

	require.Equal(t, v1, read(t.Context(), running, "job").Value.Version)
	again := changed(t, open(t, url), "job", v1, "other")
	require.NotEqual(t, v2, again)
	require.Greater(t, again.Stamp, v2.Stamp)
	require.Equal(t, driver.Conflict, change(t.Context(), running, "job", driver.Change{From: v2, ID: "late", Data: []byte("late")}).Status)
}

func TestTokensRiseThoughTheClockWentBack(t *testing.T) {
	t.Parallel()
	server := own(t)
	s := open(t, databaseOn(t, server))
	v := changed(t, s, "job", driver.Version{}, "before")
	require.NoError(t, server.SetClock(-time.Hour))
	require.Equal(t, driver.Done, change(t.Context(), s, "job", driver.Change{From: v, ID: "removal"}).Status)
	again := changed(t, s, "job", driver.Version{}, "again")
	require.Greater(t, again.Stamp, v.Stamp)
}

func TestManyReplicasMakeTheTablesAtOnce(t *testing.T) {
	t.Parallel()
	url := database(t)
	var all sync.WaitGroup
	results := make([]driver.Result, 10)
	for i := range results {
		s := open(t, url)
		all.Go(func() {
			results[i] = change(t.Context(), s, fmt.Sprint("k", i), driver.Change{ID: "a", Data: []byte("a")})
		})
	}
	all.Wait()
	for _, res := range results {
		require.NoError(t, res.Err)
		require.Equal(t, driver.Done, res.Status)
	}
}

func TestDroppedDatabaseIsFoundAgain(t *testing.T) {
	t.Parallel()
	server, err := shared()
	require.NoError(t, err)
	url := database(t)
	name := url[strings.LastIndex(url, "/")+1:]
	s := open(t, url)
	changed(t, s, "job", driver.Version{}, "before")
	run(t, server, "DROP DATABASE "+name)
	res := read(t.Context(), s, "job")
	require.ErrorContains(t, res.Err, "Unknown database")
	require.Contains(t, s.Hint(res.Err), "CREATE DATABASE")
	run(t, server, "CREATE DATABASE "+name)
	require.Equal(t, driver.Version{}, read(t.Context(), s, "job").Value.Version)
	run(t, server, "DROP DATABASE "+name, "CREATE DATABASE "+name)
	changed(t, s, "job", driver.Version{}, "after")
}
