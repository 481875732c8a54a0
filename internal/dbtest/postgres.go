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

	"github.com/solotick/solotick/internal/proctest"
	"github.com/solotick/solotick/internal/skewtest"
)

// Postgres starts PostgreSQL with further settings, and a clock that can be set, for any user that
// is called test, on the socket and on 127.0.0.1: see PostgresDSN. It is killed and frozen with the
// processes of its connections. A commit survives its death, but without fsync=on not the machine's.
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

// PostgresProgram returns a program of the PostgreSQL that is installed, or of the one whose server
// SOLOTICK_TEST_POSTGRES names.
func PostgresProgram(name string) (string, error) {
	if other := proctest.Other("POSTGRES"); other != "" {
		return filepath.Join(filepath.Dir(other), name), nil
	}
	return Find(name)
}

func initDB(dir string) (*exec.Cmd, error) {
	binary, err := PostgresProgram("initdb")
	return exec.Command(binary, "-D", filepath.Join(dir, "data"), "-U", "test", "-A", "trust", "-E", "UTF8",
		"--locale=C", "--no-sync"), err
}

func postgres(dir string, settings ...string) (*exec.Cmd, error) {
	binary, err := PostgresProgram("postgres")
	args := []string{"-D", filepath.Join(dir, "data"), "-k", dir}
	for _, s := range append([]string{"fsync=off", "max_connections=100", "lock_timeout=20s"}, settings...) {
		args = append(args, "-c", s)
	}
	return exec.Command(binary, args...), err
}

// children are the processes that share the fate of the server, such as those of PostgreSQL for its
// connections. Only Linux knows them: elsewhere they end, or go on, by themselves.
func (s *Server) children() (pids []int) {
	if !s.tree {
		return nil
	}
	pid := s.process.Pid()
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for child := range strings.FieldsSeq(string(text)) {
		if n, err := strconv.Atoi(child); err == nil {
			pids = append(pids, n)
		}
	}
	return pids
}

func signal(pids []int, sig syscall.Signal) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, sig)
	}
}
