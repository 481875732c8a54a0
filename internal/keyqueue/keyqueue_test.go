package keyqueue_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/keyqueue"
)

func take(t *testing.T, q *keyqueue.Queue, keys ...string) func() {
	t.Helper()
	err := q.Take(t.Context(), keys...)
	if err != nil {
		t.Error(err)
		return func() {}
	}
	return func() { q.Give(keys...) }
}

func TestCallersOfAKeyGoInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q keyqueue.Queue
		give := take(t, &q, "a")
		var order []int
		for i := range 5 {
			go func() {
				defer take(t, &q, "a")()
				order = append(order, i)
			}()
			synctest.Wait()
		}
		take(t, &q, "b")()
		require.Empty(t, order)
		give()
		synctest.Wait()
		require.Equal(t, []int{0, 1, 2, 3, 4}, order)
	})
}

func TestCallersOfManyKeysNeverDeadlock(t *testing.T) {
	var q keyqueue.Queue
	var all sync.WaitGroup
	inside := map[string]int{"a": 0, "b": 0, "c": 0}
	for _, keys := range [][]string{{"a", "b", "c"}, {"c", "b"}, {"b", "a"}, {"c", "a"}} {
		all.Go(func() {
			for range 200 {
				give := take(t, &q, keys...)
				for _, key := range keys {
					inside[key]++ // the race detector sees whether two are in here
				}
				give()
			}
		})
	}
	all.Wait()
	require.Equal(t, map[string]int{"a": 600, "b": 600, "c": 600}, inside)
}

func TestEndedContextGivesUpPlaceAndKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q keyqueue.Queue
		give := take(t, &q, "b")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := q.Take(ctx, "a", "b")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		take(t, &q, "a")()
		give()
		take(t, &q, "a", "b")()
	})
}
