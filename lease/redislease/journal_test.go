package redislease_test

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/solotick/solotick/lease"
)

// window is when a lease was proved held.
type window struct {
	what       string // a lock, or a name at a tick
	token      int64
	begin, end time.Time
	settled    bool
}

func (w window) String() string {
	return fmt.Sprintf("%s, token %d, from %s to %s", w.what, w.token, w.begin.Format("05.000000"), w.end.Format("05.000000"))
}

// whatOf names the subject of a lease: nobody else may have it meanwhile.
func whatOf(l *lease.Lease) string { return fmt.Sprintf("%s at %d", l.Name(), l.Tick()) }

// journal has the entries that holders have written down.
type journal struct {
	mu      sync.Mutex
	windows []*window
}

// write writes down that a lease was held from then until now, or until its deadline.
func (j *journal) write(l *lease.Lease, begin time.Time) *window {
	end := time.Now()
	if deadline := l.Deadline(); deadline.Before(end) {
		end = deadline
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	w := &window{what: whatOf(l), token: l.Token(), begin: begin, end: end}
	j.windows = append(j.windows, w)
	return w
}

// settle writes down that a lease was settled.
func (j *journal) settle(w *window) {
	j.mu.Lock()
	defer j.mu.Unlock()
	w.settled = true
}

// grants is how many leases were held.
func (j *journal) grants() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.windows)
}

// overlaps are the leases of the same, two by two, that were held at one time.
func (j *journal) overlaps() (pairs []string) {
	j.each(func(of []*window) {
		last := of[0]
		for _, w := range of[1:] {
			if w.begin.Before(last.end) {
				pairs = append(pairs, last.String()+"; "+w.String())
			}
			if w.end.After(last.end) {
				last = w
			}
		}
	})
	return pairs
}

// crossing is within which the answers of two masters, each of which grants the same at one moment,
// may overtake each other.
const crossing = 50 * time.Millisecond

// tokensRise wants the tokens to rise in the order of the grants.
func (j *journal) tokensRise(t *testing.T) {
	t.Helper()
	j.each(func(of []*window) {
		for i, w := range of[1:] {
			if w.begin.Before(of[i].end) && w.begin.Sub(of[i].begin) < crossing {
				continue
			}
			assert.Greater(t, w.token, of[i].token, "%s; %s", of[i], w)
		}
	})
}

// neverAgain wants nothing to be granted that was settled.
func (j *journal) neverAgain(t *testing.T) {
	t.Helper()
	j.each(func(of []*window) {
		for i, w := range of[1:] {
			assert.False(t, of[i].settled, "settled: %s; granted again: %s", of[i], w)
		}
	})
}

// each calls f with the windows of each lock or tick in the order in which they began.
func (j *journal) each(f func(of []*window)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	slices.SortFunc(j.windows, func(a, b *window) int {
		return cmp.Or(cmp.Compare(a.what, b.what), a.begin.Compare(b.begin))
	})
	for i := 0; i < len(j.windows); {
		k := i
		for k < len(j.windows) && j.windows[k].what == j.windows[i].what {
			k++
		}
		f(j.windows[i:k])
		i = k
	}
}
