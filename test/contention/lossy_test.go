package contention

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/solotick/solotick/lease/driver"
)

var errLost = errors.New("connection reset by the test")

// lossy is the store as one process reaches it: over a network that loses requests and replies,
// holds requests back, and is slow. While it is, others use the store. All that it does follows
// from its random numbers.
type lossy struct {
	*driver.Memory
	*rand.Rand
	faulty bool
	others func() // lets other processes use the store
	held   []driver.Op
	lost   int // replies to changes that were made
}

func (l *lossy) Do(ctx context.Context, ops []driver.Op) []driver.Result {
	if !l.faulty || !slices.ContainsFunc(ops, func(op driver.Op) bool { return op.Change != nil }) {
		return l.Memory.Do(ctx, ops)
	}
	if l.IntN(4) == 0 { // somebody is quicker
		l.others()
	}
	switch l.IntN(8) {
	case 0: // the reply is lost
		for _, res := range l.Memory.Do(context.WithoutCancel(ctx), ops) {
			if res.Err == nil && res.Status == driver.Done {
				l.lost++
			}
		}
	case 1: // the request is lost
	case 2: // the request is held back, and arrives after others
		l.held = append(l.held, ops...)
	default:
		return l.Memory.Do(ctx, ops)
	}
	l.pass()
	results := make([]driver.Result, len(ops))
	for i := range results {
		results[i].Err = errLost
	}
	return results
}

// pass is the time until the process notices that there is no reply, and tries again. Perhaps it is
// frozen meanwhile.
func (l *lossy) pass() {
	for range 1 + l.IntN(3) {
		if l.IntN(3) == 0 {
			l.arrive()
		}
		l.others()
		time.Sleep(time.Duration(l.Int64N(int64(time.Second))))
	}
	if l.IntN(8) == 0 {
		time.Sleep(time.Duration(l.Int64N(int64(time.Minute))))
		l.others()
	}
	l.arrive()
}

// arrive lets the store have what was held back.
func (l *lossy) arrive() {
	l.Memory.Do(context.Background(), l.held)
	l.held = nil
}
