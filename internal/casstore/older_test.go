package casstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/casstore"
	"github.com/solotick/solotick/lease/driver"
)

func entries(from, to, most int) (ops []driver.Op) {
	for i := from; i < to; i++ {
		ops = append(ops, driver.Op{Append: []driver.Entry{{ID: fmt.Sprint(i), Text: []byte("text"), Max: most}}})
	}
	return ops
}

func history(t testing.TB, s *casstore.Store) (ids []string) {
	t.Helper()
	for _, e := range do(t, s, driver.Op{Newest: 1000}).List {
		ids = append(ids, e.ID)
	}
	return ids
}

// half is a medium that has room for no further key of older entries, or that loses what comes after
// such a key was written, as when the process is killed.
type half struct {
	*memory
	full, killed bool
}

func (h *half) Put(ctx context.Context, key string, data []byte, from uint64) (casstore.Kept, bool, error) {
	older := strings.HasPrefix(key, "older/")
	if h.full && older || h.killed && !older {
		return casstore.Kept{}, false, errors.New("no room")
	}
	return h.memory.Put(ctx, key, data, from)
}

// A medium that is nearly full takes no further keys. Leases are renewed and settled all the same.
func TestNoRoomForOlderEntriesStopsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &half{memory: newMemory()}
		s := open(t, m)
		held := grant(t, s)
		m.full = true
		for _, op := range entries(0, 50, 100) {
			do(t, s, op)
		}
		require.Equal(t, driver.Done, do(t, s, renew(held)).Status)
		m.full = false
		for _, op := range entries(50, 60, 100) {
			do(t, s, op)
		}
		require.Len(t, history(t, s), 60)
	})
}

// A process is killed after it has written older entries apart, and the next one, which is to keep
// fewer of them for a while, has others to move.
func TestEntriesOfAKilledProcessTakeNobodysPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &half{memory: newMemory()}
		s := open(t, m)
		for _, op := range entries(0, 32, 100) {
			do(t, s, op)
		}
		m.killed = true
		op := entries(32, 33, 100)[0]
		op.Key = "job"
		require.Error(t, s.Values().Do(t.Context(), []driver.Op{op})[0].Err)
		m.killed = false
		next := open(t, m)
		for _, op := range append(entries(33, 41, 4), entries(41, 81, 100)...) {
			do(t, next, op)
		}
		var want []string
		for i := 80; i >= 37; i-- {
			want = append(want, fmt.Sprint(i))
		}
		require.Equal(t, want, history(t, next))
	})
}
