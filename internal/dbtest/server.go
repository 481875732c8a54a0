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

// Server is a database server that runs.
type Server struct {
	Dir     string // of its socket
	process *proctest.Process
	quit    syscall.Signal
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
	dir, err := os.MkdirTemp("", "db") // short, for a unix socket is in it
	if err != nil {
		return nil, err
	}
	s := &Server{Dir: dir, quit: quit}
	running.Lock()
	running.servers = append(running.servers, s)
	running.Unlock()
	if setup != nil {
		p, c, out, err := s.run(setup)
		if err != nil {
			return nil, err
		}
		if <-p.Done(); p.Err() != nil {
			return nil, fmt.Errorf("%s: %w\n%s", c, p.Err(), out)
		}
	}
	p, c, out, err := s.run(command)
	if err != nil {
		return nil, err
	}
	s.process = p
	bound := time.After(30 * time.Second)
	for {
		err := ping(context.Background(), dir)
		if err == nil {
			return s, nil
		}
		select {
		case <-p.Done():
			return nil, fmt.Errorf("%s ended:\n%s", c, out)
		case <-bound:
			return nil, fmt.Errorf("%s: no answer: %w", c, err)
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
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC", "HOME=" + s.Dir}
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

// Postgres starts PostgreSQL, for any user that is called test: see PostgresDSN.
func Postgres(ping func(ctx context.Context, dir string) error) (*Server, error) {
	return Start(syscall.SIGQUIT,
		func(dir string) (*exec.Cmd, error) {
			initdb, err := Find("initdb")
			return exec.Command(initdb, "-D", filepath.Join(dir, "data"), "-U", "test", "-A", "trust", "-E", "UTF8",
				"--locale=C", "--no-sync"), err
		},
		func(dir string) (*exec.Cmd, error) {
			binary, err := Find("postgres")
			return exec.Command(binary, "-D", filepath.Join(dir, "data"), "-k", dir, "-c", "listen_addresses=", "-c", "fsync=off",
				"-c", "max_connections=100", "-c", "lock_timeout=20s"), err
		}, ping)
}

// PostgresDSN is how pgx reaches the PostgreSQL of a directory.
func PostgresDSN(dir string) string {
	return "host=" + dir + " user=test dbname=postgres sslmode=disable"
}
