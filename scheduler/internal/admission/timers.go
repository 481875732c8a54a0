package admission

import (
	"sync"

	"github.com/solotick/solotick/internal/sleep"
)

// Slot is the place of a worker among the timers and in the queue.
type Slot[W Worker] struct {
	Owner W // the worker

	index  int32 // in the heap of the timers, and guarded by Timers.mu; -1 when not in it
	queued bool  // it waits to be admitted; guarded by Queue.mu
	actAt  int64 // changed with Timers.mu locked
}

// At returns the time at which the owner acts, as it was last set, or 0 for never. The caller must
// hold the lock under which the owner sets it.
func (s *Slot[W]) At() int64 { return s.actAt }

// NewSlot returns the slot of a worker, without a timer.
func NewSlot[W Worker](owner W) Slot[W] { return Slot[W]{Owner: owner, index: -1} }

// Timers orders workers by the time at which they act, in Unix ms of fleet time. Setting or
// removing a timer costs O(log n). Moving one to a later time costs nothing: its place in the heap
// is corrected when the earlier time comes.
type Timers[W Worker] struct {
	Wake sleep.Signal

	mu     sync.Mutex
	heap   timerHeap[W]
	sleeps int64 // until when the loop sleeps
}

// NewTimers returns an empty Timers.
func NewTimers[W Worker]() *Timers[W] { return &Timers[W]{Wake: sleep.NewSignal()} }

// Set makes the owner of s act at a time, or never if at is 0.
func (t *Timers[W]) Set(s *Slot[W], at int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.actAt = at
	switch {
	case at == 0 && s.index >= 0:
		t.heap.remove(int(s.index))
	case at == 0:
	case s.index < 0:
		t.heap = append(t.heap, timer[W]{at, s})
		t.heap.up(len(t.heap)-1, timer[W]{at, s})
	case at < t.heap[s.index].at:
		t.heap.up(int(s.index), timer[W]{at, s})
	}
	if at != 0 && at < t.sleeps {
		t.sleeps = at
		t.Wake.Set()
	}
}

// atOnce bounds how many workers Due returns, so that the first need not wait for thousands.
const atOnce = 256

// Due removes the timers that have come, at most atOnce of them, and appends their slots to
// into[:0]. next is the time at which to call it again, or 0 if there are no more timers.
func (t *Timers[W]) Due(now int64, into []*Slot[W]) (due []*Slot[W], next int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	due = into[:0]
	for len(t.heap) > 0 && t.heap[0].at <= now && len(due) < atOnce {
		first := t.heap[0]
		if first.actAt > first.at {
			t.heap.down(0, timer[W]{first.actAt, first.Slot})
			continue
		}
		t.heap.remove(0)
		due = append(due, first.Slot)
	}
	t.sleeps = 1<<63 - 1
	if len(t.heap) > 0 {
		next = t.heap[0].at
		t.sleeps = next
	}
	return due, next
}

// timerHeap is a heap of four branches, so that moving one timer touches few others. Each slot
// knows its index. A time in the heap is never later than that of its slot.
type timerHeap[W Worker] []timer[W]

type timer[W Worker] struct {
	at int64
	*Slot[W]
}

func (h timerHeap[W]) put(i int, t timer[W]) {
	h[i] = t
	t.index = int32(i) //nolint:gosec // a replica serves fewer jobs
}

// up moves the empty place i towards the top as far as t belongs there, and puts t into it.
func (h timerHeap[W]) up(i int, t timer[W]) {
	for ; i > 0 && t.at < h[(i-1)/4].at; i = (i - 1) / 4 {
		h.put(i, h[(i-1)/4])
	}
	h.put(i, t)
}

// down moves the empty place i towards the leaves as far as t belongs there, and puts t into it.
func (h timerHeap[W]) down(i int, t timer[W]) {
	for {
		child := 4*i + 1
		for j := child + 1; j < min(4*i+5, len(h)); j++ {
			if h[j].at < h[child].at {
				child = j
			}
		}
		if child >= len(h) || t.at <= h[child].at {
			h.put(i, t)
			return
		}
		h.put(i, h[child])
		i = child
	}
}

func (h *timerHeap[W]) remove(i int) {
	old := *h
	last := len(old) - 1
	t := old[last]
	old[i].index, old[last] = -1, timer[W]{}
	*h = old[:last]
	switch {
	case i == last:
	case i > 0 && t.at < old[(i-1)/4].at:
		h.up(i, t)
	default:
		h.down(i, t)
	}
}
