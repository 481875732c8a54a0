// Package natstest runs real nats-server processes for tests: it starts, freezes, kills, empties
// and restarts them, one alone or a cluster of three.
//
// Every [Server] has a directory and a port of its own on the loopback address. It ends with the
// test, or, on Linux, with the test process, however that ends.
package natstest

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/solotick/solotick/internal/proctest"
	"github.com/solotick/solotick/internal/servertest"
	"github.com/solotick/solotick/internal/skewtest"
)

const (
	host = "127.0.0.1"
	// answerBound is far more than a server needs on a loaded machine; past it something is wrong.
	answerBound = 60 * time.Second
)

// Server is a nats-server process with JetStream, which keeps its streams in a directory. Its
// methods fail the test on an error, and must not be called concurrently.
type Server struct {
	t     testing.TB
	dir   string
	port  int
	clock *skewtest.Clock
	proc  *proctest.Process // nil while the server is killed
}

// Option changes how a server is set up.
type Option func(*options)

type options struct {
	lines []string
	dir   string
}

// WithConf adds text to the configuration of the server.
func WithConf(text string) Option {
	return func(o *options) { o.lines = append(o.lines, text) }
}

// WithoutJetStream makes a server that only passes messages on.
func WithoutJetStream() Option { return func(o *options) { o.dir = "-" } }

// WithStoreDir has the server keep its streams elsewhere.
func WithStoreDir(dir string) Option { return func(o *options) { o.dir = dir } }

// Start starts a server and returns when it answers.
func Start(t testing.TB, opts ...Option) *Server {
	t.Helper()
	s := prepare(t, opts...)
	s.launch()
	s.await()
	return s
}

func prepare(t testing.TB, opts ...Option) *Server {
	t.Helper()
	s := &Server{t: t, dir: t.TempDir(), port: freePort(t)}
	o := &options{dir: s.Dir()}
	for _, opt := range opts {
		opt(o)
	}
	lines := append([]string{
		"listen: " + s.Addr(),
		"server_name: s" + strconv.Itoa(s.port),
	}, o.lines...)
	if o.dir != "-" {
		lines = append(lines, fmt.Sprintf("jetstream { store_dir: %q, max_file: 1G, max_mem: 256M }", o.dir))
	}
	if err := os.WriteFile(s.path("nats.conf"), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	if s.clock, err = skewtest.NewGoClock(s.dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.end)
	return s
}

// Dir is where the server keeps its streams.
func (s *Server) Dir() string { return s.path("jetstream") }

// Addr returns host:port. It stays the same for the life of the Server, restarts included.
func (s *Server) Addr() string { return net.JoinHostPort(host, strconv.Itoa(s.port)) }

// URL returns a nats:// URL without a user.
func (s *Server) URL() string { return "nats://" + s.Addr() }

// Freeze sends SIGSTOP, and returns when the process has stopped.
func (s *Server) Freeze() {
	s.t.Helper()
	if err := s.proc.Freeze(); err != nil {
		s.t.Fatalf("freeze nats-server: %v\n%s", err, s.log())
	}
}

// Thaw lets a frozen process go on.
func (s *Server) Thaw() {
	s.t.Helper()
	if err := s.proc.Thaw(); err != nil {
		s.t.Fatalf("thaw nats-server: %v\n%s", err, s.log())
	}
}

// SetClock puts the wall clock of the server so far ahead of the machine's, from now on and over
// restarts.
func (s *Server) SetClock(ahead time.Duration) {
	s.t.Helper()
	if err := s.clock.Set(ahead); err != nil {
		s.t.Fatalf("set the clock of nats-server: %v", err)
	}
}

// Kill kills the process, as SIGKILL does, frozen or not, and returns when it is gone.
func (s *Server) Kill() {
	if s.proc != nil {
		s.proc.Kill()
		s.proc = nil
	}
}

// Restart kills the process if there is one, and starts another, which answers with everything that
// is in the directory.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	s.launch()
	s.await()
}

func (s *Server) launch() {
	s.t.Helper()
	binary, err := servertest.Program("nats-server")
	if err != nil {
		s.t.Fatal(err)
	}
	log, err := os.OpenFile(s.path("log"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = log.Close() }() // the child has a copy
	cmd := exec.Command(binary, "-c", "nats.conf")
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Env = s.dir, log, log, append(os.Environ(), s.clock.Env()...)
	if s.proc, err = proctest.Start(cmd); err != nil {
		s.t.Fatalf("start nats-server: %v", err)
	}
}

// await waits until the server greets a client, which it does once it has loaded its streams.
func (s *Server) await() {
	s.t.Helper()
	bound := time.After(answerBound)
	for {
		err := s.greets()
		if err == nil {
			return
		}
		select {
		case <-s.proc.Done():
			s.t.Fatalf("nats-server ended: %v\n%s", s.proc.Err(), s.log())
		case <-bound:
			s.t.Fatalf("nats-server: no answer in %s: %v\n%s", answerBound, err, s.log())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (s *Server) greets() error {
	conn, err := net.Dial("tcp", s.Addr())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(answerBound)); err != nil {
		return err
	}
	greeting, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return err
	}
	// Another server may have taken the port first.
	if name := fmt.Sprintf(`"server_name":"s%d"`, s.port); !strings.Contains(greeting, name) {
		return fmt.Errorf("another server is on %s: %s", s.Addr(), greeting)
	}
	return nil
}

func (s *Server) end() {
	if s.proc != nil && !s.proc.Kill() {
		s.t.Errorf("nats-server ended by itself: %v\n%s", s.proc.Err(), s.log())
	}
}

func (s *Server) path(name string) string { return filepath.Join(s.dir, name) }

// log returns the end of what the server has written.
func (s *Server) log() string {
	text, err := os.ReadFile(s.path("log"))
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4096):])
}

// freePort returns one below those that the kernel hands out to outgoing connections: while a server
// is killed, one of them could take its port.
func freePort(t testing.TB) int {
	t.Helper()
	const lowest, past = 10000, 32768
	for range 100 {
		port := lowest + rand.IntN(past-lowest)
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		return port
	}
	t.Fatal("no free port")
	return 0
}
