package engine

import (
	"context"
	"sync"
	"time"
)

// together batches the requests of this process for one name. One batch of a name is under way at a
// time, and requests that arrive meanwhile travel in the next. So a name costs one change for each
// round trip, however many ask. The zero value is ready for use.
type together[Q, A any] struct {
	mu      sync.Mutex
	pending map[string][]*asked[Q, A] // by the names that a goroutine works for
}

// asked is a request, and its answer once done is closed.
type asked[Q, A any] struct {
	ctx     context.Context
	request Q
	done    chan struct{}
	answer  A
	err     error
}

const (
	// mostTogether bounds a batch.
	mostTogether = 64
	// inTurn is after how many batches of a name a process lets others go first. The process that
	// has just changed a value knows it, and would always be quicker.
	inTurn = 32
)

// ask returns the answer to a request. Work on a batch goes on while the caller of one of its
// requests waits.
func (q *together[Q, A]) ask(ctx context.Context, s *Session, name string, request Q, send func(ctx context.Context, list []Q) ([]A, error)) (answer A, err error) {
	if err := context.Cause(ctx); err != nil {
		return answer, err
	}
	one := &asked[Q, A]{ctx: ctx, request: request, done: make(chan struct{})}
	if q.add(name, one) {
		go q.work(s, name, send)
	}
	select {
	case <-one.done:
		return one.answer, one.err
	case <-ctx.Done():
		return answer, context.Cause(ctx)
	}
}

// add adds a request, and reports whether the caller must start to work for the name.
func (q *together[Q, A]) add(name string, one *asked[Q, A]) (begin bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	list, busy := q.pending[name]
	if q.pending == nil {
		q.pending = make(map[string][]*asked[Q, A])
	}
	q.pending[name] = append(list, one)
	return !busy
}

// next returns the next batch of a name, without requests whose callers have gone. If there is
// none, it returns nil and nobody works for the name any more.
func (q *together[Q, A]) next(name string) (batch []*asked[Q, A]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := q.pending[name]
	for len(list) > 0 && len(batch) < mostTogether {
		if list[0].ctx.Err() == nil {
			batch = append(batch, list[0])
		}
		list = list[1:]
	}
	if batch == nil {
		delete(q.pending, name)
		return nil
	}
	q.pending[name] = list
	return batch
}

// work answers the requests for a name until there are no more.
func (q *together[Q, A]) work(s *Session, name string, send func(ctx context.Context, list []Q) ([]A, error)) {
	for n := 1; ; n++ {
		batch := q.next(name)
		if batch == nil {
			return
		}
		answer(batch, send)
		if n%inTurn == 0 {
			time.Sleep(2 * s.roundTrip())
		}
	}
}

func answer[Q, A any](batch []*asked[Q, A], send func(ctx context.Context, list []Q) ([]A, error)) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	list := make([]Q, len(batch))
	for i, one := range batch {
		list[i] = one.request
		defer context.AfterFunc(one.ctx, func() {
			if !waited(batch) {
				cancel()
			}
		})()
	}
	answers, err := send(ctx, list)
	for i, one := range batch {
		if one.err = err; err == nil {
			one.answer = answers[i]
		}
		close(one.done)
	}
}

// waited reports whether a caller still waits for its answer.
func waited[Q, A any](batch []*asked[Q, A]) bool {
	for _, one := range batch {
		if one.ctx.Err() == nil {
			return true
		}
	}
	return false
}
