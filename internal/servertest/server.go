// Package servertest runs etcd and nats-server, which test/servers pins, for the tests of a process.
// They end with the test process.
package servertest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/solotick/solotick/internal/proctest"
	"github.com/solotick/solotick/internal/skewtest"
)

// Program returns a server: the one that SOLOTICK_TEST_ETCD or SOLOTICK_TEST_NATS names, or that which
// test/servers pins, which it builds when it is missing.
func Program(name string) (string, error) {
	if other := proctest.Other(variables[name]); other != "" {
		return other, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "test", "servers", "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("servertest: this test runs outside of the repository")
		}
		dir = filepath.Dir(dir)
	}
	if out, err := exec.Command(filepath.Join(dir, "internal", "scripts", "servers.sh"), name).CombinedOutput(); err != nil {
		return "", fmt.Errorf("servertest: build %s: %w\n%s", name, err, out)
	}
	return filepath.Join(dir, "bin", name), nil
}

// variables are how the environment names another server: see [proctest.Other].
var variables = map[string]string{"etcd": "ETCD", "nats-server": "NATS"}

// Server is a server that runs, with a directory of its own.
type Server struct {
	Dir   string
	Ports []int // on 127.0.0.1

	command func(s *Server) *exec.Cmd
	ready   func(s *Server) error
	clock   *skewtest.Clock

	mu      sync.Mutex
	process *proctest.Process
	out     *bytes.Buffer
}

// startBound is far more than a server needs on a loaded machine.
const startBound = time.Minute

// Start makes a directory and finds ports, and starts what command returns. It returns when ready
// does so without an error.
func Start(ports int, command func(s *Server) *exec.Cmd, ready func(s *Server) error) (*Server, error) {
	var last error
	for range 3 { // another process may take a port first
		dir, err := os.MkdirTemp("", "server")
		if err != nil {
			return nil, err
		}
		s := &Server{Dir: dir, command: command, ready: ready}
		if s.clock, err = skewtest.NewGoClock(dir); err != nil {
			return nil, err
		}
		for range ports {
			port, err := freePort()
			if err != nil {
				return nil, err
			}
			s.Ports = append(s.Ports, port)
		}
		if last = s.Run(); last == nil {
			return s, nil
		}
		s.Stop()
	}
	return nil, last
}

// Run starts a server again that has ended, on its directory and its ports.
func (s *Server) Run() error {
	if err := s.Begin(); err != nil {
		return err
	}
	return s.Await()
}

// Begin is Run without waiting until the server is ready.
func (s *Server) Begin() error {
	c := s.command(s)
	out := new(bytes.Buffer)
	c.Dir, c.Stdout, c.Stderr, c.Env = s.Dir, out, out, append(os.Environ(), s.clock.Env()...)
	p, err := proctest.StartWith(c, syscall.SIGKILL)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process, s.out = p, out
	return nil
}

// Await returns when the server is ready.
func (s *Server) Await() error {
	p := s.running()
	bound := time.After(startBound)
	for {
		err := s.ready(s)
		if err == nil {
			return nil
		}
		select {
		case <-p.Done():
			return fmt.Errorf("servertest: it has ended: %w\n%s", p.Err(), s.out)
		case <-bound:
			return fmt.Errorf("servertest: it is not ready: %w", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (s *Server) running() *proctest.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process
}

// Kill ends the server at once, as a loss of power does, and waits until it has ended.
func (s *Server) Kill() { s.running().Kill() }

// Freeze stops the server until Thaw.
func (s *Server) Freeze() error { return s.running().Freeze() }

// Thaw lets it go on.
func (s *Server) Thaw() error { return s.running().Signal(syscall.SIGCONT) }

// SetClock puts the server's wall clock so far ahead of the machine's, from now on and over restarts.
func (s *Server) SetClock(ahead time.Duration) error { return s.clock.Set(ahead) }

// Stop kills the server and removes its directory.
func (s *Server) Stop() {
	if p := s.running(); p != nil {
		p.Kill()
	}
	_ = os.RemoveAll(s.Dir)
}

// Empty removes what the server keeps in its directory. It must have ended.
func (s *Server) Empty() error {
	entries, err := os.ReadDir(s.Dir)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(s.Dir, e.Name())))
	}
	if err != nil {
		return err
	}
	s.clock, err = skewtest.NewGoClock(s.Dir)
	return err
}

// Addr is where a port of the server is reached.
func (s *Server) Addr(port int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Ports[port]))
}

// freePort returns one below those that the kernel hands out to outgoing connections: while a server
// is killed, one of them could take its port.
func freePort() (int, error) {
	const lowest, past = 10000, 32768
	var last error
	for range 100 {
		port := lowest + rand.IntN(past-lowest)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			last = err
			continue
		}
		return port, l.Close()
	}
	return 0, last
}
