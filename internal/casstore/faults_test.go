package casstore_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/casstore"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/driver"
)

const ttl = time.Second

func do(t testing.TB, s *casstore.Store, op driver.Op) driver.Result {
	t.Helper()
	op.Key = "job"
	res := s.Values().Do(t.Context(), []driver.Op{op})[0]
	require.NoError(t, res.Err)
	return res
}

// grant makes a value with a lease of the holder.
func grant(t testing.TB, s *casstore.Store) driver.Version {
	t.Helper()
	res := do(t, s, driver.Op{Change: &driver.Change{ID: "first", Data: []byte("held"), Leases: []driver.NewLease{{Holder: "a", TTL: ttl}}}})
	require.Equal(t, driver.Done, res.Status)
	return res.Version
}

func renew(held driver.Version) driver.Op {
	return driver.Op{Renew: &driver.Renewal{Token: held.Stamp, Holder: "a", TTL: ttl}}
}

func takeOver(held driver.Version) driver.Op {
	return driver.Op{Change: &driver.Change{ID: "second", From: held, Data: []byte("taken"), Ended: []int64{held.Stamp}, Drop: []int64{held.Stamp}}}
}

// A clock that somebody sets ends no lease, and the time that a lease is seen for is measured by none
// that can be set.
func TestClockOfTheServersEndsNoLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		holder, other := open(t, m), open(t, m)
		held := grant(t, holder)
		do(t, other, driver.Op{})
		m.step(time.Hour)
		require.Equal(t, driver.Conflict, do(t, other, takeOver(held)).Status)
		m.step(-2 * time.Hour)
		time.Sleep(ttl + ttl/50)
		require.Equal(t, driver.Done, do(t, other, takeOver(held)).Status)
	})
}

func TestNewcomerWaitsForAWholeTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		held := grant(t, open(t, m))
		time.Sleep(10 * ttl)
		newcomer := open(t, m)
		require.Equal(t, driver.Conflict, do(t, newcomer, takeOver(held)).Status)
		time.Sleep(ttl)
		require.Equal(t, driver.Conflict, do(t, newcomer, takeOver(held)).Status)
		time.Sleep(ttl / 50)
		require.Equal(t, driver.Done, do(t, newcomer, takeOver(held)).Status)
	})
}

// The holder renews when the other process has decided that its lease is over, and before it writes.
func TestRenewalIsInTheWayOfATakeover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		holder, other := open(t, m), open(t, m)
		held := grant(t, holder)
		do(t, other, driver.Op{})
		time.Sleep(2 * ttl)
		m.before = func(string) {
			m.before = nil
			require.Equal(t, driver.Done, do(t, holder, renew(held)).Status)
		}
		require.Equal(t, driver.Conflict, do(t, other, takeOver(held)).Status)
	})
}

// A copy of long ago is restored while a process does not see what others change.
func TestRestoredLeaseIsSeenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		cut := &deaf{memory: m, back: make(chan struct{})}
		holder, other := open(t, m), open(t, cut)
		held := grant(t, holder)
		do(t, other, driver.Op{})
		copied := maps.Clone(m.kept)
		for range 20 {
			time.Sleep(ttl / 10)
			require.Equal(t, driver.Done, do(t, holder, renew(held)).Status)
		}
		m.mu.Lock()
		m.kept = copied
		m.mu.Unlock()
		close(cut.back)
		synctest.Wait()
		require.Equal(t, driver.Conflict, do(t, other, takeOver(held)).Status)
	})
}

// deaf is a medium that sees no changes, only that it went back.
type deaf struct {
	*memory
	back chan struct{}
}

func (d *deaf) Watch(ctx context.Context, _ func(string, casstore.Kept), missed func()) error {
	missed()
	select {
	case <-d.back:
		d.back = nil
		return casstore.ErrWentBack
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func TestLostAnswerIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lossy := &lossy{memory: newMemory()}
		s := open(t, lossy)
		op := driver.Op{Key: "job", Change: &driver.Change{ID: "once", Data: []byte("x"), Append: []driver.Entry{{ID: "e", Max: 4}}}}
		lossy.lose = true
		require.Error(t, s.Values().Do(t.Context(), []driver.Op{op})[0].Err)
		lossy.lose = false
		require.Equal(t, driver.Done, do(t, s, op).Status)
		require.Len(t, do(t, s, driver.Op{Newest: 4}).List, 1)
	})
}

// lossy is a medium whose answers to changes get lost.
type lossy struct {
	*memory
	lose bool
}

func (l *lossy) Put(ctx context.Context, key string, data []byte, from uint64) (casstore.Kept, bool, error) {
	kept, ok, err := l.memory.Put(ctx, key, data, from)
	if l.lose {
		return casstore.Kept{}, false, errors.New("no answer")
	}
	return kept, ok, err
}

// The sweeper removes everything that nobody needs, leftovers of killed processes included.
func TestNothingIsKeptForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		s := open(t, m)
		ctx := t.Context()
		long := []byte(strings.Repeat("x", protocol.MaxInfo))
		require.NoError(t, s.SendHeartbeat(ctx, "a", long, time.Minute))
		require.NoError(t, s.SendHeartbeat(ctx, "b", []byte("b"), time.Minute))
		require.NoError(t, s.PutSet(ctx, []byte("set"), time.Hour))
		require.NoError(t, s.Publish(ctx, []byte("message")))
		do(t, s, driver.Op{Change: &driver.Change{ID: "kept", Data: []byte("x"), Keep: time.Hour}})
		for i := range 200 {
			do(t, s, driver.Op{Append: []driver.Entry{{ID: fmt.Sprint(i), Text: long[:1<<10], Max: 100}}})
		}
		require.Len(t, do(t, s, driver.Op{Newest: 200}).List, 112)
		m.mu.Lock()
		m.putLocked("older/job/other/0", []byte(`{"At":1,"List":null}`)) // of an item that is gone
		m.mu.Unlock()
		require.Greater(t, len(m.keys()), 15)
		time.Sleep(protocol.FormerFor + 3*time.Hour)
		require.Equal(t, []string{"item/member:"}, m.keys(), "the list of the members that are remembered")
	})
}

// A clock that is set forward by more than a lock is kept for sweeps it away only when nobody holds it.
func TestHeldValueIsNotSweptWhenClocksStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		s := open(t, m)
		res := do(t, s, driver.Op{Change: &driver.Change{
			ID: "held", Data: []byte("x"), Keep: 24 * time.Hour, Leases: []driver.NewLease{{Holder: "a", TTL: time.Hour}},
		}})
		open(t, m) // another process, which sweeps too
		m.step(48 * time.Hour)
		time.Sleep(30 * time.Minute)
		require.Equal(t, res.Version, do(t, s, driver.Op{}).Value.Version)
		time.Sleep(2 * time.Hour)
		require.Empty(t, do(t, s, driver.Op{}).Value.Version)
	})
}

func (m *memory) keys() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var keys []string
	for key := range m.kept {
		keys = append(keys, key)
	}
	return keys
}

// However many values are made, those that are not kept any more go within minutes.
func TestManyValuesAreSweptWithinMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		s := open(t, m)
		for i := range 2000 { // as fast as a million a day
			res := s.Values().Do(t.Context(), []driver.Op{{Key: fmt.Sprint("lock:", i), Change: &driver.Change{
				ID: "x", Data: []byte("x"), Keep: 5 * time.Minute,
			}}})[0]
			require.NoError(t, res.Err)
			time.Sleep(86 * time.Millisecond)
		}
		time.Sleep(15 * time.Minute)
		require.Less(t, len(m.keys()), 100)
	})
}
