package lock_test

import (
	"context"
	"flag"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lock"
)

func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "200"); err != nil { // the command line may say otherwise
		panic(err)
	}
	flag.Parse()
	redis.SetLogger(silence{}) // what it says about connections that the tests break
	// Closed or not, a pool that could not dial sleeps out its second before it looks again.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

const (
	ttl    = 15 * time.Second
	ticket = 3 * time.Second
)

// process is one of several that share a store.
type process struct {
	*lock.Locks

	t    *testing.T
	link *link

	mu     sync.Mutex
	events []lock.Event
}

// start starts a process that is closed at the end of the test. By then it must have forgotten its
// waiters.
func start(t *testing.T, store *memlease.Store, holder string) *process {
	p := &process{t: t, link: &link{Store: store}}
	p.Locks = lock.New(p.link, lock.WithHolder(holder), lock.WithObserver(p.observe))
	t.Cleanup(func() {
		p.Close()
		require.Zero(t, p.Kept())
	})
	return p
}

func (p *process) observe(e lock.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events = append(p.events, e)
}

// seen returns what has happened since it was called last.
func (p *process) seen() []lock.Event {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.events
	p.events = nil
	return e
}

// acquire acquires what must be granted.
func acquire(t testing.TB, l lock.Lock) *lock.Hold {
	t.Helper()
	h, err := l.Acquire(t.Context())
	require.NoError(t, err)
	return h
}

func release(t testing.TB, h *lock.Hold) {
	t.Helper()
	require.NoError(t, h.Release(t.Context()))
}

// requireHeld demands that another holds the lock.
func requireHeld(t testing.TB, l lock.Lock) {
	t.Helper()
	_, err := l.TryAcquire(t.Context())
	require.ErrorIs(t, err, lease.ErrHeld)
}

// acquisition is one that is under way.
type acquisition struct {
	done chan struct{}
	hold *lock.Hold
	err  error
	took time.Duration
}

// begin acquires in a goroutine of its own.
func begin(ctx context.Context, l lock.Lock) *acquisition {
	a := &acquisition{done: make(chan struct{})}
	began := time.Now()
	go func() {
		defer close(a.done)
		a.hold, a.err = l.Acquire(ctx)
		a.took = time.Since(began)
	}()
	return a
}

// waits demands that a waits, when all that can go on has.
func (a *acquisition) waits(t testing.TB) {
	t.Helper()
	synctest.Wait()
	select {
	case <-a.done:
		require.Fail(t, "it does not wait", "%v", a.err)
	default:
	}
}

// granted waits until a is granted.
func (a *acquisition) granted(t testing.TB) *lock.Hold {
	t.Helper()
	<-a.done
	require.NoError(t, a.err)
	return a.hold
}

// requireFree demands that the lock of that name is neither held nor waited for.
func requireFree(t testing.TB, s *memlease.Store, name string) {
	t.Helper()
	v, err := s.Lock(t.Context(), name)
	require.NoError(t, err)
	require.Equal(t, protocol.Lock{Name: name}, v)
}

// bubble runs test in virtual time with a store of its own.
func bubble(t *testing.T, test func(t *testing.T, store *memlease.Store)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, new(memlease.Store)) })
}
