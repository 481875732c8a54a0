package dbtest

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/solotick/solotick/internal/skewtest"
)

// Postgres starts PostgreSQL with further arguments, and a clock that can be set, for any user that
// is called test, on the socket and on 127.0.0.1: see PostgresDSN. A commit survives the server's
// death, but not the machine's.
func Postgres(ping func(ctx context.Context, dir string) error, args ...string) (*Server, error) {
	return PostgresFrom(func(dir string) (*exec.Cmd, error) {
		initdb, err := Find("initdb")
		return exec.Command(initdb, "-D", filepath.Join(dir, "data"), "-U", "test", "-A", "trust", "-E", "UTF8",
			"--locale=C", "--no-sync"), err
	}, ping, args...)
}

// PostgresFrom is Postgres with data that setup makes in the directory data.
func PostgresFrom(setup Program, ping func(ctx context.Context, dir string) error, args ...string) (*Server, error) {
	s := &Server{quit: syscall.SIGQUIT, ping: ping, tree: true}
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	s.Addr = addr
	_, port, _ := net.SplitHostPort(addr)
	command := func(dir string) (*exec.Cmd, error) {
		binary, err := Find("postgres")
		return exec.Command(binary, append([]string{
			"-D", filepath.Join(dir, "data"), "-k", dir, "-p", port, "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off",
			"-c", "max_connections=100", "-c", "lock_timeout=20s",
		}, args...)...), err
	}
	return s, s.start(setup, command, func(dir string) error {
		s.clock, err = skewtest.NewClock(dir)
		return err
	})
}

// PostgresDSN is how pgx reaches the PostgreSQL of a directory.
func PostgresDSN(dir string) string {
	port := "5432"
	if sockets, _ := filepath.Glob(filepath.Join(dir, ".s.PGSQL.*")); len(sockets) > 0 {
		for _, s := range sockets {
			if name, lock := strings.CutSuffix(s, ".lock"); !lock {
				port = filepath.Ext(name)[1:]
			}
		}
	}
	return "host=" + dir + " port=" + port + " user=test dbname=postgres sslmode=disable"
}

// children returns the processes that the server has started, where each is one that shares its
// fate.
func (s *Server) children() (pids []int) {
	if !s.tree {
		return nil
	}
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range all {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(rest) // state, parent, ...
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && len(fields) > 1 && fields[1] == strconv.Itoa(s.process.Pid()) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func signal(pids []int, sig syscall.Signal) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, sig)
	}
}
