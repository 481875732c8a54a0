package dbtest

import (
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/solotick/solotick/internal/skewtest"
)

// MariaDB starts MariaDB with its own tables, further arguments, and a clock that can be set. The
// user root has all rights and no password, on the socket and on 127.0.0.1. A commit survives the
// server's death, but not the machine's. With [MariaDBNoSync] among args not even that may be
// trusted: a server that is killed may not start again.
func MariaDB(ping func(ctx context.Context, dir string) error, args ...string) (*Server, error) {
	s := &Server{quit: syscall.SIGKILL, ping: ping}
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	s.Addr = addr
	_, port, _ := net.SplitHostPort(addr)
	template, err := mariadbTemplate()
	if err != nil {
		return nil, err
	}
	setup := func(dir string) (*exec.Cmd, error) { return exec.Command("cp", "-R", template.Dir+"/.", dir), nil }
	command := func(dir string) (*exec.Cmd, error) {
		binary, err := Find("mariadbd")
		return exec.Command(binary, append(append(mariadbArgs(dir), "--socket="+filepath.Join(dir, "s"), "--pid-file="+filepath.Join(dir, "pid"),
			"--bind-address=127.0.0.1", "--port="+port, "--skip-name-resolve", "--max-connections=300", "--innodb-flush-log-at-trx-commit=2", "--innodb-flush-method=fsync"), args...)...), err
	}
	return s, s.start(setup, command, func(dir string) error {
		s.clock, err = skewtest.NewClock(dir)
		return err
	})
}

// mariadbTemplate is a directory with MariaDB's own tables, which takes a second to make.
var mariadbTemplate = sync.OnceValues(func() (*Server, error) {
	s := &Server{quit: syscall.SIGKILL}
	return s, s.setUp(func(dir string) (*exec.Cmd, error) {
		binary, err := Find("mariadbd")
		if err != nil {
			return nil, err
		}
		tables, err := systemTables(binary)
		c := exec.Command(binary, append(mariadbArgs(dir), "--bootstrap", "--default-storage-engine=Aria", "--innodb-flush-log-at-trx-commit=0")...)
		c.Stdin = tables
		return c, err
	}, nil)
})

func mariadbArgs(dir string) []string {
	return []string{"--no-defaults", "--datadir=" + dir, "--tmpdir=" + dir, "--innodb-buffer-pool-size=16M", "--innodb-log-file-size=8M"}
}

// MariaDBNoSync is an argument of a server that is not killed before its test is over: it never
// waits for the disk.
const MariaDBNoSync = "--innodb-flush-method=nosync"

// MariaDBSocket is where a client reaches the MariaDB of a directory.
func MariaDBSocket(dir string) string { return filepath.Join(dir, "s") }

// systemTables returns the statements that make the tables of MariaDB itself, from the files that
// are installed with it.
func systemTables(binary string) (io.Reader, error) {
	var text strings.Builder
	text.WriteString("CREATE DATABASE mysql;\nUSE mysql;\nSET @auth_root_socket = NULL;\nSET @skip_auth_anonymous = 1;\n")
	binary, err := filepath.EvalSymlinks(binary)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"mysql_system_tables.sql", "mysql_system_tables_data.sql"} {
		found := ""
		for _, share := range []string{"mysql", "mariadb"} {
			path := filepath.Join(filepath.Dir(binary), "..", "share", share, name)
			if _, err := os.Stat(path); err == nil {
				found = path
			}
		}
		content, err := os.ReadFile(found)
		if err != nil {
			return nil, err
		}
		text.Write(content)
	}
	return strings.NewReader(text.String()), nil
}

// freeAddr returns a loopback address on which nobody listens.
func freeAddr() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
