package scheduler

import (
	"container/heap"
	"sync"
)

// timers orders contenders by when they have to act, in Unix ms of fleet time. Setting and taking one costs O(log n). Setting
// one to a later time costs nothing: its place in the heap is corrected when the earlier time has come.
type timers struct {
	mu     sync.Mutex
	heap   timerHeap
	sleeps int64         // until when the loop sleeps
	wake   chan struct{} // of size 1: wake-ups may coalesce
}

func newTimers() *timers { return &timers{wake: make(chan struct{}, 1)} }

// set makes c act at a time; 0 means never.
func (t *timers) set(c *contender, at int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.actAt = at
	switch {
	case at == 0 && c.index >= 0:
		heap.Remove(&t.heap, c.index)
	case at == 0:
	case c.index < 0:
		heap.Push(&t.heap, c)
	case at < t.heap[c.index].at:
		t.heap[c.index].at = at
		heap.Fix(&t.heap, c.index)
	}
	if at != 0 && at < t.sleeps {
		t.sleeps = at
		t.nudge()
	}
}

func (t *timers) nudge() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// atOnce bounds what due takes out: the first need not wait until thousands are.
const atOnce = 256

// due takes out the contenders that have to act, some of them when they are many, and returns when to ask again at the
// latest; 0 when there is none.
func (t *timers) due(now int64, into []*contender) (due []*contender, next int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	due = into[:0]
	for len(t.heap) > 0 && t.heap[0].at <= now && len(due) < atOnce {
		if first := &t.heap[0]; first.actAt > first.at {
			first.at = first.actAt
			heap.Fix(&t.heap, 0)
			continue
		}
		due = append(due, heap.Pop(&t.heap).(*contender))
	}
	t.sleeps = 1<<63 - 1
	if len(t.heap) > 0 {
		next = t.heap[0].at
		t.sleeps = next
	}
	return due, next
}

// timerHeap has for each contender a time that is not later than when it has to act.
type timerHeap []timer

type timer struct {
	at int64
	*contender
}

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *timerHeap) Push(x any) {
	c := x.(*contender)
	c.index = len(*h)
	*h = append(*h, timer{c.actAt, c})
}

func (h *timerHeap) Pop() any {
	old := *h
	c := old[len(old)-1].contender
	old[len(old)-1] = timer{}
	*h = old[:len(old)-1]
	c.index = -1
	return c
}
