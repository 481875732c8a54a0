package dbtest

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/solotick/solotick/internal/proctest"
	"github.com/solotick/solotick/internal/skewtest"
)

// MariaDB starts MariaDB, or the MySQL or MariaDB that SOLOTICK_TEST_MYSQL names, with its own tables,
// further arguments, and a clock that can be set. The user root has all rights and no password, on
// the socket and on 127.0.0.1. A commit survives the server's death, but not the machine's. With
// [MariaDBNoSync] among args not even that may be trusted: a server that is killed may not start
// again.
func MariaDB(ping func(ctx context.Context, dir string) error, args ...string) (*Server, error) {
	return chosen.start(ping, args...)
}

// kind is a program of MariaDB or MySQL, and a directory with its own tables, which takes a second or
// some to make.
type kind struct {
	binary   func() (string, error)
	template func() (*Server, error)
}

var (
	chosen    = kindOf(mariadbd)
	installed = kindOf(func() (string, error) { return Find("mariadbd") })
)

func (k kind) start(ping func(ctx context.Context, dir string) error, args ...string) (*Server, error) {
	s := &Server{quit: syscall.SIGKILL, ping: ping}
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	s.Addr = addr
	_, port, _ := net.SplitHostPort(addr)
	template, err := k.template()
	if err != nil {
		return nil, err
	}
	setup := func(dir string) (*exec.Cmd, error) { return exec.Command("cp", "-R", template.Dir+"/.", dir), nil }
	command := func(dir string) (*exec.Cmd, error) {
		binary, err := k.binary()
		return exec.Command(binary, append(append(mariadbArgs(binary, dir), "--socket="+filepath.Join(dir, "s"), "--pid-file="+filepath.Join(dir, "pid"),
			"--bind-address=127.0.0.1", "--port="+port, "--skip-name-resolve", "--max-connections=300", "--innodb-flush-log-at-trx-commit=2", "--innodb-flush-method=fsync"), args...)...), err
	}
	return s, s.start(setup, command, func(dir string) error {
		s.clock, err = skewtest.NewClock(dir)
		return err
	})
}

func kindOf(program func() (string, error)) kind {
	return kind{program, sync.OnceValues(func() (*Server, error) {
		s := &Server{quit: syscall.SIGKILL}
		binary, err := program()
		if err != nil {
			return nil, err
		}
		mysql, err := isMySQL(binary)
		if err != nil {
			return nil, err
		}
		if mysql {
			return s, s.setUp(mysqlTables(binary), writeRootOnTCP)
		}
		return s, s.setUp(func(dir string) (*exec.Cmd, error) {
			tables, err := systemTables(binary)
			c := exec.Command(binary, append(mariadbArgs(binary, dir), "--bootstrap", "--default-storage-engine=Aria", "--innodb-flush-log-at-trx-commit=0")...)
			c.Stdin = tables
			return c, err
		}, nil)
	})}
}

func mariadbd() (string, error) {
	if other := proctest.Other("MYSQL"); other != "" {
		return other, nil
	}
	return Find("mariadbd")
}

// mariadbArgs are what every run of a server has. Those that begin with loose only some versions
// know. Its messages and character sets are where its program lies.
func mariadbArgs(binary, dir string) []string {
	return []string{
		"--no-defaults", "--datadir=" + dir, "--tmpdir=" + dir, "--innodb-buffer-pool-size=16M", "--loose-innodb-log-file-size=8M", "--loose-skip-ssl",
		"--loose-basedir=" + filepath.Join(filepath.Dir(binary), ".."), "--loose-innodb-redo-log-capacity=8M", "--loose-mysqlx=OFF",
		"--loose-auto-generate-certs=OFF", "--skip-log-bin", "--secure-file-priv=",
	}
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
	for _, name := range []string{"_system_tables.sql", "_system_tables_data.sql"} {
		found, err := filepath.Glob(filepath.Join(filepath.Dir(binary), "..", "share", "m*", "m*"+name)) // mysql_ or mariadb_
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("%s: no file *%s is installed with it", binary, name)
		}
		if err != nil {
			return nil, err
		}
		content, err := os.ReadFile(found[0])
		if err != nil {
			return nil, err
		}
		text.Write(content)
	}
	return strings.NewReader(text.String()), nil
}

// freeAddr returns a loopback address on which nobody listens. Its port is below those that the kernel
// hands out to outgoing connections: while a server is killed, one of them could take it.
func freeAddr() (string, error) {
	const lowest, past = 10000, 32768
	for tries := 0; ; tries++ {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", lowest+rand.IntN(past-lowest)))
		switch {
		case err == nil:
			return listener.Addr().String(), listener.Close()
		case tries > 100:
			return "", err
		}
	}
}
