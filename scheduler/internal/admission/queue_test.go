package admission

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// doer is a worker.
type doer struct {
	backup bool
	do     func()
}

func (d *doer) slot() *Slot[*doer] {
	s := NewSlot(d)
	return &s
}

func (d *doer) IsBackup() bool     { return d.backup }
func (d *doer) Work(time.Duration) { d.do() }

func TestAdmissionIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const count, limit = 100, 7
		gate := NewInflight(time.Second)
		gate.limit = limit
		a := NewQueue[*doer](gate, time.Second)
		var now, most, done atomic.Int64
		var due []*Slot[*doer]
		for range count {
			due = append(due, (&doer{do: func() {
				if n := now.Add(1); n > most.Load() {
					most.Store(n)
				}
				time.Sleep(10 * time.Millisecond)
				now.Add(-1)
				done.Add(1)
			}}).slot())
		}
		a.Add(due)
		a.Serving.Wait()
		require.EqualValues(t, limit, most.Load())
		require.EqualValues(t, count, done.Load())
		require.Zero(t, gate.used, "every place was given back")
	})
}

// TestBackupsGoLast has both kinds wait, and takes them out as a goroutine that is admitted does.
func TestBackupsGoLast(t *testing.T) {
	gate := NewInflight(time.Second)
	gate.limit = 0 // none is admitted but by this test
	a := NewQueue[*doer](gate, time.Second)
	var first, backups []*Slot[*doer]
	for range 2 * backupTurn {
		first, backups = append(first, new(doer).slot()), append(backups, (&doer{backup: true}).slot())
	}
	a.Add(backups)
	a.Add(first)
	a.Add(first[:1]) // once is enough
	require.Equal(t, 4*backupTurn, a.Waiting())

	var order []bool
	for next, ok := a.next(); ok; next, ok = a.next() {
		order = append(order, next.Owner.backup)
		require.False(t, next.queued)
	}
	require.Len(t, order, 4*backupTurn)
	for i, backup := range order[:2*backupTurn] {
		require.Equal(t, i%backupTurn == backupTurn-1, backup, "one of %d is a backup", backupTurn)
	}
}

// TestEndsWaitForFirstClaims has a contender wait, and looks when the end of a run is recorded.
func TestEndsWaitForFirstClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := NewInflight(time.Second)
		gate.limit = 0 // none is admitted but by this test
		a := NewQueue[*doer](gate, 30*time.Second)
		var ended atomic.Int32 // they are recorded at the same time
		end := func() {
			a.End(func() { ended.Add(1) })
			synctest.Wait()
		}
		end()
		require.EqualValues(t, 1, ended.Load(), "none waits")

		a.Add([]*Slot[*doer]{new(doer).slot()})
		end()
		require.EqualValues(t, 1, ended.Load())
		_, ok := a.next()
		require.True(t, ok)
		synctest.Wait()
		require.EqualValues(t, 2, ended.Load(), "the contender was admitted")

		a.Add([]*Slot[*doer]{new(doer).slot()})
		end()
		time.Sleep(time.Second - 1)
		end()
		require.EqualValues(t, 2, ended.Load())
		time.Sleep(time.Second)
		synctest.Wait()
		require.EqualValues(t, 4, ended.Load(), "the store is slow")
		end()
		require.EqualValues(t, 4, ended.Load(), "and the next one waits again")
		time.Sleep(time.Second)
		synctest.Wait()
		require.EqualValues(t, 5, ended.Load())
	})
}

func TestFIFOIsInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q fifo[int]
		pushed, popped := 0, 0
		for range rapid.IntRange(1, 30).Draw(t, "rounds") {
			for range rapid.IntRange(0, 2000).Draw(t, "pushes") {
				q.push(pushed)
				pushed++
			}
			for range rapid.IntRange(0, q.len()).Draw(t, "pops") {
				require.Equal(t, popped, q.pop())
				popped++
			}
			require.Equal(t, pushed-popped, q.len())
			require.LessOrEqual(t, q.head, max(1024, q.len()), "it must not grow for ever")
		}
	})
}
