package processes

import (
	"context"
	"io"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/internal/proxytest"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/solotest/internal/observed"
	"github.com/solotick/solotick/solotest/internal/wire"
)

// patience is how long something may take that has to happen, on a busy machine.
const patience = time.Minute

// Fleet is a number of processes on one store. Its methods may be called by the test, and by what
// [Gate.Before] and [Gate.After] call.
type Fleet struct {
	t         *testing.T
	call      int
	url       string   // of Redis
	addrs     []string // of the servers
	namespace string
	client    *redis.Client // past the proxies
	store     lease.Store
	began     time.Time
	gate      Gate
	runs      observed.Runs
	server    *redistest.Server // nil when it is not the test's own
	skews     map[string]time.Duration
	skewed    string // the test binary for them

	mu        sync.Mutex
	ahead     time.Duration // of the server's clock
	members   map[string]*member
	jobs      map[string]wire.Job
	triggered map[string][]time.Time
	stopped   []wire.Stopped
}

// Began is when all replicas were ready.
func (f *Fleet) Began() time.Time { return f.began.UTC() }

// Start starts replicas and returns when they are ready. It starts new ones under any name that
// matches the pattern of a job's name, or killed or stopped ones again.
func (f *Fleet) Start(replicas ...string) {
	f.t.Helper()
	var started []*member
	for _, name := range replicas {
		m, err := f.start(name)
		if err != nil {
			f.t.Fatalf("solotest: %s: %v", name, err)
		}
		started = append(started, m)
	}
	for _, m := range started {
		select {
		case <-m.ready:
		case <-m.Done():
			f.t.Fatalf("solotest: %s ended before it was ready:\n%s", m.name, m.output)
		case <-time.After(patience):
			f.t.Fatalf("solotest: %s is not ready after %s:\n%s", m.name, patience, m.output)
		}
	}
}

// Stop asks a replica to end, as SIGTERM does, and waits until it has ended. A failure of it fails
// the test.
func (f *Fleet) Stop(replica string) {
	f.t.Helper()
	m := f.member(replica)
	m.expected.Store(true)
	_ = m.Signal(syscall.SIGTERM)
	select {
	case <-m.Done():
		if m.Err() != nil {
			f.t.Errorf("solotest: %s stopped with %v:\n%s", replica, m.Err(), m.output)
		}
	case <-time.After(patience):
		f.t.Errorf("solotest: %s does not stop in %s:\n%s", replica, patience, m.output)
	}
}

// Kill kills a replica, as kill -9 does, and returns when it is gone.
func (f *Fleet) Kill(replica string) {
	m := f.member(replica)
	m.expected.Store(true)
	m.Kill()
}

// Pause freezes a replica until Resume, as SIGSTOP does.
func (f *Fleet) Pause(replica string) {
	m := f.member(replica)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.paused {
		return
	}
	if err := m.Freeze(); err != nil {
		f.t.Errorf("solotest: pause %s: %v", replica, err)
		return
	}
	m.paused = true
}

// Resume ends Pause, of all replicas when none is given.
func (f *Fleet) Resume(replicas ...string) {
	for _, m := range f.chosen(replicas) {
		m.mu.Lock()
		if m.paused {
			_ = m.Thaw() // one that was killed stays dead
		}
		m.paused = false
		m.mu.Unlock()
	}
}

// Cut cuts the connections of a replica to the servers, and new ones, until Heal.
func (f *Fleet) Cut(replica string) { f.member(replica).eachProxy((*proxytest.Proxy).Cut) }

// Delay delays what a replica sends to the servers, and each reply, by d, until Heal.
func (f *Fleet) Delay(replica string, d time.Duration) {
	f.member(replica).eachProxy(func(p *proxytest.Proxy) { p.Delay(d) })
}

// LoseReplies has Redis do what a replica asks, and the connection break instead of each reply,
// until Heal. It knows the protocol of Redis only.
func (f *Fleet) LoseReplies(replica string) {
	f.member(replica).eachProxy(func(p *proxytest.Proxy) { p.LoseReplies(1 << 30) })
}

// Heal ends Cut, Delay and LoseReplies, of all replicas when none is given.
func (f *Fleet) Heal(replicas ...string) {
	for _, m := range f.chosen(replicas) {
		m.eachProxy((*proxytest.Proxy).Heal)
	}
}

// Forget removes all that the fleet has in Redis, as when that is emptied. It fails a test that
// uses [WithStore].
func (f *Fleet) Forget() {
	if f.client == nil {
		f.t.Fatal("solotest: forget: the fleet is not on Redis")
	}
	if err := f.forget(context.Background()); err != nil {
		f.t.Errorf("solotest: forget: %v", err)
	}
}

func (f *Fleet) forget(ctx context.Context) error {
	var keys []string
	found := f.client.Scan(ctx, 0, "solotick:*"+f.namespace+"*", 1000).Iterator()
	for found.Next(ctx) {
		keys = append(keys, found.Val())
	}
	if err := found.Err(); err != nil || len(keys) == 0 {
		return err
	}
	return f.client.Unlink(ctx, keys...).Err()
}

// Store returns the store of the fleet, which no fault of a replica touches: for package fleet, say.
func (f *Fleet) Store() lease.Store { return f.store }

// Client returns a client of the fleet's Redis, which no fault touches, or nil with [WithStore]. It
// is closed at the end.
func (f *Fleet) Client() *redis.Client { return f.client }

// member returns a replica. A wrong name ends the goroutine, and fails the test.
func (f *Fleet) member(name string) *member {
	f.mu.Lock()
	defer f.mu.Unlock()
	m, ok := f.members[name]
	if !ok {
		f.t.Fatalf("solotest: replica %q was not started", name)
	}
	return m
}

func (f *Fleet) chosen(names []string) (list []*member) {
	for _, name := range names {
		list = append(list, f.member(name))
	}
	if len(names) > 0 {
		return list
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.members {
		list = append(list, m)
	}
	return list
}

// end kills the replicas, and says which of them had ended by themselves.
func (f *Fleet) end() {
	for _, m := range f.chosen(nil) {
		if !m.Process.Kill() && !m.expected.Load() {
			f.t.Errorf("solotest: %s ended by itself: %s", m.name, m.ending())
		}
		m.close()
		if text := strings.TrimSpace(m.output.String()); f.t.Failed() && text != "" {
			f.t.Logf("%s printed:\n%s", m.name, text)
		}
	}
	if f.client != nil {
		if err := f.forget(context.Background()); err != nil && !f.t.Failed() {
			f.t.Errorf("solotest: remove the fleet's keys: %v", err)
		}
	}
	closeStore(f.store)
}

func closeStore(s lease.Store) {
	if c, ok := s.(io.Closer); ok {
		_ = c.Close()
	}
}
