package processes

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/internal/proctest"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/scheduler"
	"github.com/solotick/solotick/solotest/internal/wire"
)

// TTL is the lease's TTL of every replica, unless [WithScheduler] says otherwise.
const TTL = 2 * time.Second

// Option changes a default of [Run].
type Option func(*settings)

type settings struct {
	url       string
	servers   func(t *testing.T) []string
	open      func(addrs []string, namespace string) (lease.Store, error)
	clock     bool
	skews     map[string]time.Duration // by replica
	scheduler []scheduler.Option
}

// WithRedis makes the fleet use a Redis that runs already: redis://[USER:PASSWORD@]HOST:PORT[/DB],
// without TLS. The fleet has a random namespace there, whose keys are removed at the end. The
// default is a redis-server of the PATH, which is started for the test.
func WithRedis(url string) Option { return func(s *settings) { s.url = url } }

// WithStore makes the fleet use another store than one on Redis. servers is called in the test, and
// returns where the servers are. open is called in each replica, with an address for each of them,
// and in the test. A replica reaches host:port by a proxy of its own; anything else, such as the
// path of a file, is passed on as it is. The fleet has a random namespace there, which is left
// behind at the end. A store that is an io.Closer is closed.
func WithStore(servers func(t *testing.T) []string, open func(addrs []string, namespace string) (lease.Store, error)) Option {
	return func(s *settings) { s.servers, s.open = servers, open }
}

// WithScheduler passes options to the scheduler of every replica.
func WithScheduler(options ...scheduler.Option) Option {
	return func(s *settings) { s.scheduler = append(s.scheduler, options...) }
}

// Run starts n replicas, 0 to 100, with the names r1, r2 and so on, and calls test when all are
// ready. replica is called in each of them, and adds its jobs. At the end of test the replicas are
// killed. One that ended by itself fails the test, and what it printed is logged.
//
// A test binary that handles its arguments or signals before the tests, in TestMain, does so in
// replicas, too.
func Run(t *testing.T, n int, replica func(r *Replica), test func(f *Fleet), options ...Option) {
	t.Helper()
	var set settings
	for i, option := range options {
		if option == nil {
			t.Fatalf("solotest: options[%d]: nil must be an option", i)
		}
		option(&set)
	}
	if n < 0 || n > 100 {
		t.Fatalf("solotest: replicas: %d must be from 0 to 100", n)
	}
	call := number(t)
	if start, ok := started(); ok {
		if start.Test == t.Name() && start.Call == call {
			serve(t, start, replica, set)
		}
		return
	}
	defer proctest.FollowGo()()
	f := newFleet(t, call, set)
	defer f.end()
	if err := f.buildSkewed(); err != nil {
		t.Fatalf("solotest: build the test with a wrong clock: %v", err)
	}
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("r%d", i+1)
	}
	f.Start(names...)
	f.began = time.Now()
	test(f)
}

var calls = struct {
	sync.Mutex
	made map[string]int
}{made: map[string]int{}}

// number counts the calls of Run in one test.
func number(t *testing.T) int {
	calls.Lock()
	defer calls.Unlock()
	n := calls.made[t.Name()]
	calls.made[t.Name()]++
	if n == 0 {
		t.Cleanup(func() { // the test may be run again
			calls.Lock()
			defer calls.Unlock()
			delete(calls.made, t.Name())
		})
	}
	return n
}

// newFleet makes a fleet without replicas.
func newFleet(t *testing.T, call int, set settings) *Fleet {
	t.Helper()
	f := &Fleet{
		t: t, call: call, namespace: "solotest-" + strings.ToLower(rand.Text()),
		members: map[string]*member{}, jobs: map[string]wire.Job{}, skews: set.skews,
	}
	f.gate.fleet = f
	if set.clock && (set.url != "" || set.open != nil) {
		t.Fatal("solotest: clock: WithClock must be left out with WithRedis and WithStore: their clocks cannot be set")
	}
	if set.open == nil {
		f.openRedis(set)
		return f
	}
	f.addrs = set.servers(t)
	var err error
	if f.store, err = set.open(f.addrs, f.namespace); err != nil {
		t.Fatalf("solotest: store: %v", err)
	}
	return f
}

func (f *Fleet) openRedis(set settings) {
	t, at := f.t, set.url
	t.Helper()
	if at == "" {
		if _, err := exec.LookPath("redis-server"); err != nil {
			t.Fatal("solotest: there is no redis-server on the PATH: install Redis 7.0 or later, or pass processes.WithRedis(url)")
		}
		f.server = redistest.Start(t, set.server()...)
		at = f.server.URL()
	}
	options, err := redis.ParseURL(at)
	if err == nil && (options.Network != "tcp" || options.TLSConfig != nil) {
		err = fmt.Errorf("%q must be redis://HOST:PORT, without TLS", redacted(at))
	}
	if err != nil {
		t.Fatalf("solotest: redis: %v", err)
	}
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Fatalf("solotest: redis at %s: %v", options.Addr, err)
	}
	f.url, f.addrs, f.client = at, []string{options.Addr}, client
	if f.store, err = redislease.New(client, f.namespace); err != nil {
		t.Fatalf("solotest: redis: %v", err)
	}
}

func redacted(text string) string {
	if u, err := url.Parse(text); err == nil {
		return u.Redacted()
	}
	return "the URL"
}

// command is a test binary as a replica: it runs one test, and the arguments that are not of
// package testing are passed on.
func command(binary, test string) *exec.Cmd {
	parts := strings.Split(test, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	args := []string{"-test.run=" + strings.Join(parts, "/"), "-test.timeout=0"}
	for _, arg := range os.Args[1:] {
		if !strings.HasPrefix(arg, "-test.") {
			args = append(args, arg)
		}
	}
	return exec.CommandContext(context.Background(), binary, args...)
}
