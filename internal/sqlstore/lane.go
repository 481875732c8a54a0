package sqlstore

import (
	"context"
	"slices"
	"sync"

	"github.com/solotick/solotick/lease/driver"
)

// most is how many operations share a transaction.
const most = 64

// lane carries out calls in transactions: those that come while as many as possible are under way
// share the next. A call returns when its context ends, whatever the database does meanwhile.
type lane struct {
	db     *database
	atOnce int

	mu      sync.Mutex
	pending []*call
	runs    int // goroutines that take pending work
}

type call struct {
	ctx    context.Context
	ops    []driver.Op
	answer chan answer
}

type answer struct {
	results []driver.Result
	err     error
}

func (l *lane) do(ctx context.Context, ops []driver.Op) ([]driver.Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, l.db.Timeout, errTimeout)
	defer cancel()
	if ctx.Err() != nil {
		return nil, l.db.failed(context.Cause(ctx))
	}
	c := &call{ctx: ctx, ops: slices.Clone(ops), answer: make(chan answer, 1)}
	l.mu.Lock()
	if l.runs < l.atOnce {
		if err := l.db.enter(); err != nil {
			l.mu.Unlock()
			return nil, l.db.failed(err)
		}
		l.runs++
		go l.run()
	}
	l.pending = append(l.pending, c)
	l.mu.Unlock()
	select {
	case a := <-c.answer:
		return a.results, a.err
	case <-ctx.Done():
		l.mu.Lock()
		l.pending = slices.DeleteFunc(l.pending, func(other *call) bool { return other == c })
		l.mu.Unlock()
		return nil, l.db.failed(context.Cause(ctx))
	}
}

// run carries out pending work until there is none.
func (l *lane) run() {
	defer l.db.running.Done()
	for {
		batch := l.take()
		if batch == nil {
			l.db.sweep()
			return
		}
		results, err := l.attempt(batch)
		for _, c := range batch {
			switch {
			case err == nil:
				c.answer <- answer{results: results[:len(c.ops):len(c.ops)]}
				results = results[len(c.ops):]
			case len(batch) > 1 && c.ctx.Err() == nil: // one of them failed, and holds up no other
				results, err := l.attempt([]*call{c})
				c.answer <- answer{results, err}
			default:
				c.answer <- answer{err: err}
			}
		}
	}
}

// take returns the calls that share the next transaction; nil, and the goroutine is to end, when
// there are none.
func (l *lane) take() (batch []*call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ops := 0
	for len(l.pending) > 0 {
		c := l.pending[0]
		if ops += len(c.ops); len(batch) > 0 && ops > most {
			break
		}
		l.pending = l.pending[1:]
		if c.ctx.Err() == nil {
			batch = append(batch, c)
		}
	}
	if len(batch) == 0 {
		l.runs--
	}
	return batch
}

// attempt carries out the operations of calls in one transaction. It lasts no longer than the call
// that waits for it the longest.
func (l *lane) attempt(batch []*call) (results []driver.Result, err error) {
	var ops []driver.Op
	for _, c := range batch {
		ops = append(ops, c.ops...)
	}
	err = l.db.repeat(context.Background(), func(ctx context.Context) (err error) {
		results, err = l.db.carryOut(ctx, ops)
		return err
	})
	return results, err
}
