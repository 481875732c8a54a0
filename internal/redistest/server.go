// Package redistest runs a real redis-server for a test. It does to it what operations and
// accidents do: freeze it, kill it, start it again, empty it.
//
// Every [Server] is a process of its own, with a directory and a port of its own on the loopback
// address. Starting one takes some milliseconds, so a test that needs Redis starts one and shares
// it with nobody. It ends with the test, or, on Linux, with the test process, however that ends.
//
// A test that needs Redis fails where there is no redis-server. It never skips: a suite that skips
// its proofs is green.
package redistest

import (
	"errors"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/solotick/solotick/internal/skewtest"
)

const (
	host = "127.0.0.1"
	// admin is a user, and its password, that every server has besides those of the test. Whatever
	// the test does to the default user, this package and Client can still look inside.
	admin = "redistest"
)

// Server is a redis-server process. Its methods are safe for concurrent use. A method that fails
// ends the test with Fatal. So in another goroutine than the test's own it only makes the test
// fail, and ends that goroutine.
type Server struct {
	t        testing.TB
	binary   string
	dir      string // short, for the path of a unix socket must fit into about a hundred bytes
	port     int
	password string
	args     []string
	env      []string // nil for that of the test process
	clock    *skewtest.Clock

	mu     sync.Mutex
	proc   *process // nil while the server is killed
	frozen bool
}

// Start starts a redis-server that persists nothing and returns when it answers. The server is
// killed and its directory removed at the end of the test. A server that ended by itself meanwhile
// fails the test, with the end of its log.
func Start(t testing.TB, opts ...Option) *Server {
	t.Helper()
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal("this test needs redis-server, which is not on the PATH: run `make deps`")
	}
	dir, err := os.MkdirTemp("", "redistest") //nolint:usetesting // t.TempDir has the test's name in its path: see dir
	if err != nil {
		t.Fatalf("make a directory for redis-server: %v", err)
	}
	o := collect(opts)
	s := &Server{t: t, binary: binary, dir: dir, password: o.password, args: o.args}
	t.Cleanup(s.end)
	if o.clock {
		s.newClock()
	}

	// Between choosing a free port and binding it another process may take it.
	for attempt := 1; ; attempt++ {
		s.port = freePort(t)
		if err := o.write(s.path("redis.conf"), s.dir, s.port); err != nil {
			t.Fatalf("write the configuration of redis-server: %v", err)
		}
		s.proc, err = launch(s.binary, s.dir, s.env, s.args...)
		if err == nil {
			return s
		}
		if !errors.Is(err, errPortTaken) || attempt == 10 {
			t.Fatalf("start redis-server: %v", err)
		}
	}
}

// Addr returns host:port. It stays the same for the life of the Server, restarts included.
func (s *Server) Addr() string { return net.JoinHostPort(host, strconv.Itoa(s.port)) }

// URL returns a redis:// URL of database 0 for the default user, with the password that
// WithConf("requirepass", …) set.
func (s *Server) URL() string {
	u := url.URL{Scheme: "redis", Host: s.Addr(), Path: "/0"}
	if s.password != "" {
		u.User = url.UserPassword("", s.password)
	}
	return u.String()
}

// Client returns a client to look inside with, which may do everything whatever users the test has
// set up. It does not retry, and is closed at the end of t.
func (s *Server) Client(t testing.TB) *redis.Client {
	c := redis.NewClient(&redis.Options{
		Addr:                     s.Addr(),
		Username:                 admin,
		Password:                 admin,
		MaxRetries:               -1,
		ContextTimeoutEnabled:    true,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Freeze stops the process, as SIGSTOP does: it keeps its connections and answers nothing until
// [Server.Thaw]. It returns when the process stands still; a frozen one stays so.
func (s *Server) Freeze() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.frozen {
		return
	}
	s.needProcessLocked("freeze")
	if err := s.proc.freeze(); err != nil {
		s.t.Fatalf("freeze redis-server: %v", err)
	}
	s.frozen = true
}

// Thaw lets a frozen process go on, with what its sockets have received meanwhile. One that is not
// frozen runs on.
func (s *Server) Thaw() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.needProcessLocked("thaw")
	if err := s.proc.Thaw(); err != nil {
		s.t.Fatalf("thaw redis-server: %v", err)
	}
	s.frozen = false
}

// Kill kills the process, as SIGKILL does, frozen or not, and returns when it is gone. Connections
// to its port are refused until [Server.Restart]. A killed server stays killed.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.killLocked()
}

// Restart kills the process if there is one and starts another on the same port and directory. It
// returns when that one answers: with everything it had acknowledged under [WithAOF], and empty
// otherwise.
func (s *Server) Restart() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.killLocked()
	proc, err := launch(s.binary, s.dir, s.env, s.args...)
	if err != nil {
		s.t.Fatalf("restart redis-server on port %d: %v", s.port, err)
	}
	s.proc = proc
}

// Flush removes every key of every database, and nothing else: scripts, users and connections stay.
func (s *Server) Flush() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.needProcessLocked("flush")
	if err := ask(s.path(socketName), "FLUSHALL", "+OK"); err != nil {
		s.t.Fatalf("flush redis-server: %v", err)
	}
}

func (s *Server) needProcessLocked(verb string) {
	s.t.Helper()
	if s.proc == nil {
		s.t.Fatalf("cannot %s redis-server: it is killed; call Restart first", verb)
	}
}

func (s *Server) killLocked() {
	if s.proc != nil {
		s.proc.Kill()
	}
	s.proc, s.frozen = nil, false
}

func (s *Server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc != nil && !s.proc.Kill() {
		s.t.Errorf("redis-server ended by itself: %v", s.proc.obituary())
	}
	if err := os.RemoveAll(s.dir); err != nil {
		s.t.Errorf("remove the directory of redis-server: %v", err)
	}
}

func (s *Server) path(name string) string { return filepath.Join(s.dir, name) }
