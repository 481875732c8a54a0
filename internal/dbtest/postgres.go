package dbtest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/solotick/solotick/internal/skewtest"
)

// Postgres starts PostgreSQL with further settings, and a clock that can be set, for any user that
// is called test, on the socket and on 127.0.0.1: see PostgresDSN. It is killed and frozen with the
// processes of its connections.
func Postgres(ping func(ctx context.Context, dir string) error, settings ...string) (*Server, error) {
	return PostgresFrom(initDB, ping, settings...)
}

// PostgresFrom is Postgres with data that setup makes in the directory data.
func PostgresFrom(setup Program, ping func(ctx context.Context, dir string) error, settings ...string) (*Server, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	s := &Server{quit: syscall.SIGQUIT, Addr: addr, ping: ping, tree: true}
	_, port, _ := net.SplitHostPort(addr)
	return s, s.start(setup, func(dir string) (*exec.Cmd, error) {
		return postgres(dir, append([]string{"listen_addresses=127.0.0.1", "port=" + port}, settings...)...)
	}, func(dir string) (err error) {
		s.clock, err = skewtest.NewClock(dir)
		return err
	})
}

// PostgresDSN is how pgx reaches the PostgreSQL of a directory.
func PostgresDSN(dir string) string {
	port := "5432"
	sockets, _ := filepath.Glob(filepath.Join(dir, ".s.PGSQL.*"))
	for _, s := range sockets {
		if !strings.HasSuffix(s, ".lock") {
			port = filepath.Ext(s)[1:]
		}
	}
	return "host=" + dir + " port=" + port + " user=test dbname=postgres sslmode=disable"
}

func initDB(dir string) (*exec.Cmd, error) {
	binary, err := Find("initdb")
	return exec.Command(binary, "-D", filepath.Join(dir, "data"), "-U", "test", "-A", "trust", "-E", "UTF8",
		"--locale=C", "--no-sync"), err
}

func postgres(dir string, settings ...string) (*exec.Cmd, error) {
	binary, err := Find("postgres")
	args := []string{"-D", filepath.Join(dir, "data"), "-k", dir}
	for _, s := range append(settings, "fsync=off", "max_connections=100", "lock_timeout=20s") {
		args = append(args, "-c", s)
	}
	return exec.Command(binary, args...), err
}

// Children returns the ids of the processes that a server has started, such as those of PostgreSQL
// for its connections. Only Linux knows them.
func (s *Server) Children() (pids []int, err error) {
	pid := s.process.Pid()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for child := range strings.FieldsSeq(string(text)) {
		n, err := strconv.Atoi(child)
		if err != nil {
			return nil, err
		}
		pids = append(pids, n)
	}
	return pids, err
}

// children are the processes that share the fate of the server.
func (s *Server) children() []int {
	if !s.tree {
		return nil
	}
	pids, _ := s.Children() // elsewhere than on Linux they end, or go on, by themselves
	return pids
}

func signal(pids []int, sig syscall.Signal) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, sig)
	}
}
