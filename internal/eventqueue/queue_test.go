package eventqueue_test

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/eventqueue"
)

// lost is the event that stands for n dropped ones.
func lost(n int) int { return -n }

func TestEventsComeInOrderAndGapsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []int
		open := make(chan struct{})
		q := eventqueue.New(3, eventqueue.One, func(e int) {
			<-open
			got = append(got, e)
		}, lost, nil)
		require.True(t, q.Put(0))
		synctest.Wait() // the handler has it
		for e := 1; e <= 3; e++ {
			require.True(t, q.Put(e))
		}
		require.False(t, q.Put(4))
		require.False(t, q.Put(5))
		close(open)
		require.True(t, q.Close(time.Second))
		require.Equal(t, []int{0, -2, 1, 2, 3}, got)
		require.False(t, q.Put(6), "after Close")
	})
}

func TestHandlerThatPanicsGetsTheNextEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got, broken []any
		q := eventqueue.New(9, eventqueue.One, func(e int) {
			switch e {
			case 1:
				panic("one")
			case 2:
				runtime.Goexit()
			}
			got = append(got, e)
		}, lost, func(value any) { broken = append(broken, value) })
		for e := range 4 {
			q.Put(e)
			synctest.Wait()
		}
		require.True(t, q.Close(time.Second))
		require.Equal(t, []any{0, 3}, got)
		require.Equal(t, []any{"one", nil}, broken)
	})
}

func TestCloseDoesNotWaitForeverForAHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		forever := make(chan struct{})
		q := eventqueue.New(9, eventqueue.One, func(int) { <-forever }, lost, nil)
		q.Put(1)
		q.Put(2)
		began := time.Now()
		require.False(t, q.Close(time.Second))
		require.Equal(t, time.Second, time.Since(began))
		close(forever)
		synctest.Wait()
		require.True(t, q.Close(0))
	})
}
