package scheduler

import "sync"

// timers orders contenders by when they have to act, in Unix ms of fleet time. Setting and taking
// one costs O(log n). Setting one to a later time costs nothing: its place is corrected when the
// earlier time has come.
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
		t.heap.remove(int(c.index))
	case at == 0:
	case c.index < 0:
		t.heap = append(t.heap, timer{at, c})
		t.heap.up(len(t.heap)-1, timer{at, c})
	case at < t.heap[c.index].at:
		t.heap.up(int(c.index), timer{at, c})
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

// due takes out the contenders that have to act, some of them when they are many. It returns when
// to ask again at the latest, 0 when there is none.
func (t *timers) due(now int64, into []*contender) (due []*contender, next int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	due = into[:0]
	for len(t.heap) > 0 && t.heap[0].at <= now && len(due) < atOnce {
		first := t.heap[0]
		if first.actAt > first.at {
			t.heap.down(0, timer{first.actAt, first.contender})
			continue
		}
		t.heap.remove(0)
		due = append(due, first.contender)
	}
	t.sleeps = 1<<63 - 1
	if len(t.heap) > 0 {
		next = t.heap[0].at
		t.sleeps = next
	}
	return due, next
}

// timerHeap is a heap of four branches, so that few contenders are touched when one moves. Each
// knows its index. The times are not later than when they have to act.
type timerHeap []timer

type timer struct {
	at int64
	*contender
}

func (h timerHeap) put(i int, t timer) {
	h[i] = t
	t.index = int32(i) //nolint:gosec // a replica serves fewer jobs
}

// up puts t where i is, or nearer to the top.
func (h timerHeap) up(i int, t timer) {
	for ; i > 0 && t.at < h[(i-1)/4].at; i = (i - 1) / 4 {
		h.put(i, h[(i-1)/4])
	}
	h.put(i, t)
}

// down puts t where i is, or further down.
func (h timerHeap) down(i int, t timer) {
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

func (h *timerHeap) remove(i int) {
	old := *h
	last := len(old) - 1
	t := old[last]
	old[i].index, old[last] = -1, timer{}
	*h = old[:last]
	switch {
	case i == last:
	case i > 0 && t.at < old[(i-1)/4].at:
		h.up(i, t)
	default:
		h.down(i, t)
	}
}
