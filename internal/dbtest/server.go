// Package dbtest runs database servers for the tests of a process. They listen on sockets in
// directories of their own, and end with the test process.
package dbtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/solotick/solotick/internal/proctest"
	"github.com/solotick/solotick/internal/skewtest"
)

// ErrNotInstalled is matched when there is no such server on this machine.
var ErrNotInstalled = errors.New("not installed")

// Find returns a program that is on the PATH, or where Debian puts the others.
func Find(name string) (string, error) {
	if found, err := exec.LookPath(name); err == nil {
		return found, nil
	}
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin/", "/usr/sbin/", "/opt/homebrew/bin/"} {
		found, err := filepath.Glob(pattern + name)
		if err != nil {
			return "", err
		}
		if len(found) > 0 {
			return slices.Max(found), nil
		}
	}
	return "", fmt.Errorf("%w: this test needs %s: run `make deps`", ErrNotInstalled, name)
}

// Server is a database server that runs. Its methods are called one at a time.
type Server struct {
	Dir     string // of its socket
	Addr    string // host:port where it listens, too; "" when it does not
	command Program
	ping    func(ctx context.Context, dir string) error
	process *proctest.Process
	quit    syscall.Signal
	clock   *skewtest.Clock
	tree    bool // its children are processes that share its fate
}

var running struct {
	sync.Mutex
	servers []*Server
}

// StopAll stops all servers. Call it when the tests are over.
func StopAll() {
	running.Lock()
	defer running.Unlock()
	for _, s := range running.servers {
		s.stop()
	}
	running.servers = nil
}

func (s *Server) stop() {
	if s.process != nil {
		_ = s.process.Signal(s.quit)
		select {
		case <-s.process.Done():
		case <-time.After(20 * time.Second):
			s.process.Kill()
		}
	}
	_ = os.RemoveAll(s.Dir)
}

// Program returns the command to run in the directory of a server.
type Program func(dir string) (*exec.Cmd, error)

// Start makes a directory, in which setup, unless that is nil, and then the server run, and returns
// when ping returns nil. The server ends by the signal quit.
func Start(quit syscall.Signal, setup, command Program, ping func(ctx context.Context, dir string) error) (*Server, error) {
	s := &Server{quit: quit, ping: ping}
	if err := s.start(setup, command, nil); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Server) start(setup, command Program, prepare func(dir string) error) error {
	if err := s.setUp(setup, prepare); err != nil {
		return err
	}
	s.command = command
	return s.Restart()
}

func (s *Server) setUp(setup Program, prepare func(dir string) error) (err error) {
	if s.Dir, err = os.MkdirTemp("", "db"); err != nil { // short, for a unix socket is in it
		return err
	}
	running.Lock()
	running.servers = append(running.servers, s)
	running.Unlock()
	if prepare != nil {
		if err := prepare(s.Dir); err != nil {
			return err
		}
	}
	if setup != nil {
		p, c, out, err := s.run(setup)
		if err != nil {
			return err
		}
		if <-p.Done(); p.Err() != nil {
			return fmt.Errorf("%s: %w\n%s", c, p.Err(), out)
		}
	}
	return nil
}

// Kill kills the server, frozen or not, and returns when it is gone.
func (s *Server) Kill() {
	children := s.children()
	s.process.Kill()
	signal(children, syscall.SIGKILL)
}

// Freeze stops the server, as SIGSTOP does, and returns when it stands still.
func (s *Server) Freeze() error {
	if err := s.process.Freeze(); err != nil {
		return err
	}
	signal(s.children(), syscall.SIGSTOP)
	return nil
}

// Thaw lets a frozen server go on.
func (s *Server) Thaw() error {
	signal(s.children(), syscall.SIGCONT)
	return s.process.Thaw()
}

// SetClock puts the server's wall clock so far ahead of the machine's, from now on and over
// restarts.
func (s *Server) SetClock(ahead time.Duration) error { return s.clock.Set(ahead) }

// Restart kills the server if it runs, starts it on what it has kept, and returns when it answers.
func (s *Server) Restart() error {
	if s.process != nil {
		s.Kill()
	}
	p, c, out, err := s.run(s.command)
	if err != nil {
		return err
	}
	s.process = p
	bound := time.After(30 * time.Second)
	for {
		err := s.ping(context.Background(), s.Dir)
		if err == nil {
			return nil
		}
		select {
		case <-p.Done():
			return fmt.Errorf("%s ended:\n%s", c, out)
		case <-bound:
			return fmt.Errorf("%s: no answer: %w", c, err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (s *Server) run(program Program) (*proctest.Process, *exec.Cmd, *bytes.Buffer, error) {
	c, err := program(s.Dir)
	if err != nil {
		return nil, nil, nil, err
	}
	out := new(bytes.Buffer)
	c.Dir, c.Stdout, c.Stderr = s.Dir, out, out
	c.Env = append(c.Env, "PATH="+os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC", "HOME="+s.Dir)
	if s.clock != nil {
		c.Env = append(c.Env, s.clock.Env()...)
	}
	if err := unprivileged(c, s.Dir); err != nil {
		return nil, nil, nil, err
	}
	p, err := proctest.StartWith(c, s.quit)
	return p, c, out, err
}

// unprivileged makes command run as nobody where we are root, as whom the servers refuse to run.
func unprivileged(command *exec.Cmd, dir string) error {
	if os.Getuid() != 0 {
		return nil
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		return err
	}
	uid, err := strconv.ParseUint(nobody.Uid, 10, 32)
	if err != nil {
		return err
	}
	gid, err := strconv.ParseUint(nobody.Gid, 10, 32)
	if err != nil {
		return err
	}
	command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	return os.Chown(dir, int(uid), int(gid))
}
