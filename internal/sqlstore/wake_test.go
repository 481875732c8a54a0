package sqlstore

import (
	"context"
	"database/sql"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

// looker has one follower of a waker, and counts looks.
type looker struct {
	waker
	looks   atomic.Int64
	changed atomic.Bool
	woken   chan struct{}
}

func startLooker(t *testing.T) *looker {
	l := &looker{woken: make(chan struct{}, 1)}
	l.sooner = make(chan struct{}, 1)
	l.followers = map[chan struct{}]bool{l.woken: true}
	go l.look(t.Context(), func(context.Context) (bool, error) {
		l.looks.Add(1)
		return l.changed.Swap(false), nil
	})
	<-l.woken // the first look
	return l
}

// during returns how many looks there are.
func (l *looker) during(d time.Duration) int64 {
	synctest.Wait()
	before := l.looks.Load()
	time.Sleep(d)
	synctest.Wait()
	return l.looks.Load() - before
}

func TestLooksAreFewWhereNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := startLooker(t)
		require.EqualValues(t, 600, l.during(time.Minute))
		l.expect()
		require.LessOrEqual(t, l.during(time.Second), int64(10+24))
		require.EqualValues(t, 600, l.during(time.Minute))
		for range 1000 { // claims that are queued one after the other
			l.expect()
			time.Sleep(time.Millisecond)
		}
		l.expect()
		require.LessOrEqual(t, l.during(100*time.Millisecond), int64(10), "no sooner than by one claim")
		l.setWorks(true)
		l.expect()
		require.EqualValues(t, 30, l.during(time.Minute))
	})
}

func TestQueuedClaimSeesNotificationsWithinTenth(t *testing.T) {
	for _, waited := range []time.Duration{0, 3 * time.Millisecond, 50 * time.Millisecond, 500 * time.Millisecond, 700 * time.Millisecond, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			l := startLooker(t)
			time.Sleep(1234 * time.Millisecond) // looks are a tenth of a second apart
			l.expect()
			time.Sleep(waited)
			l.changed.Store(true)
			at := time.Now()
			<-l.woken
			require.LessOrEqual(t, time.Since(at), min(max(waited/9, soonest), lookEvery))
		})
	}
}

func TestNoticesOfLateTransactionsAreChanges(t *testing.T) {
	file, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "notices"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, file.Close()) })
	do := func(query string, args ...any) {
		_, err := file.ExecContext(t.Context(), query, args...)
		require.NoError(t, err)
	}
	do("CREATE TABLE solotick_notice (seq INTEGER PRIMARY KEY)")
	db := &database{Dialect: &Dialect{}, Config: Config{DB: file, Timeout: time.Minute}, tables: true}
	changes := db.changes()
	changed := func() bool {
		t.Helper()
		changed, err := changes(t.Context())
		require.NoError(t, err)
		return changed
	}
	require.False(t, changed())
	for _, seq := range []int{1, 4, 3, 2, 100, 99, 101} { // in the order in which transactions end
		do("INSERT INTO solotick_notice VALUES (?)", seq)
		require.True(t, changed(), seq)
		require.False(t, changed(), seq)
	}
	do("DELETE FROM solotick_notice WHERE seq > 99") // a backup was restored
	require.True(t, changed())
}
