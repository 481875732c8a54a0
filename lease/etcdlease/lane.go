package etcdlease

import (
	"context"
	"sync"

	"github.com/solotick/solotick/internal/casstore"
)

// lane sends puts together that come while others are under way: etcd writes each transaction to
// its disk.
type lane struct {
	send func(puts []*put) error

	mu      sync.Mutex
	waiting []*put
	flights int
	closed  bool
	done    sync.WaitGroup
}

// put is a change of one key.
type put struct {
	ctx  context.Context // of who waits for it
	key  string
	data []byte
	from uint64

	present casstore.Kept
	ok      bool
	err     error
	done    chan struct{}
}

const (
	mostFlights = 4         // transactions that are under way at once
	mostBytes   = 512 << 10 // of data in a transaction; etcd's own bound is 1.5 MiB
)

func (l *lane) do(ctx context.Context, p *put) (casstore.Kept, bool, error) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return casstore.Kept{}, false, casstore.ErrClosed
	}
	l.waiting = append(l.waiting, p)
	if l.flights < mostFlights {
		l.flights++
		l.done.Go(l.fly)
	}
	l.mu.Unlock()
	select {
	case <-p.done:
		return p.present, p.ok, p.err
	case <-ctx.Done():
		return casstore.Kept{}, false, context.Cause(ctx)
	}
}

// fly sends what waits until nothing does.
func (l *lane) fly() {
	for {
		puts := l.next()
		if len(puts) == 0 {
			return
		}
		err := l.send(puts)
		for _, p := range puts {
			p.err = err
			close(p.done)
		}
	}
}

// next takes what goes into the next transaction: no key twice.
func (l *lane) next() (puts []*put) {
	l.mu.Lock()
	defer l.mu.Unlock()
	size, keys := 0, make(map[string]bool)
	var rest []*put
	for _, p := range l.waiting {
		if p.ctx.Err() != nil {
			continue // nobody waits any more: it would be made late
		}
		full := len(puts) == mostOps || len(puts) > 0 && size+len(p.data) > mostBytes
		if full || keys[p.key] {
			rest = append(rest, p)
			continue
		}
		puts, size, keys[p.key] = append(puts, p), size+len(p.data), true
	}
	if l.waiting = rest; len(puts) == 0 {
		l.flights--
	}
	return puts
}

// wait refuses further puts, and returns when those that are under way are answered.
func (l *lane) wait() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.done.Wait()
}
