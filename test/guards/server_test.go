package guards

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// server is a database server that runs for the tests of this process.
type server struct {
	dir  string
	stop func()
}

var running struct {
	sync.Mutex
	servers []*server
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, s := range running.servers {
		s.stop()
	}
	os.Exit(code)
}

var errNotInstalled = errors.New("not installed")

// find returns a program that is on the PATH, or where Debian puts the others.
func find(name string) (string, error) {
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
	return "", fmt.Errorf("%w: this test needs %s: run `make deps`", errNotInstalled, name)
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
	command.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return os.Chown(dir, int(uid), int(gid))
}

// serve makes a directory, in which setup and then the server run, and returns when dsn can be used with driver.
func serve(driver string, quit syscall.Signal, dsn func(dir string) string, setup, command func(dir string) (*exec.Cmd, error)) (*server, error) {
	dir, err := os.MkdirTemp("", "guards") // short, for a unix socket is in it
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir, stop: func() { _ = os.RemoveAll(dir) }}
	running.Lock()
	running.servers = append(running.servers, s)
	running.Unlock()

	prepare := func(program func(dir string) (*exec.Cmd, error)) (*exec.Cmd, *bytes.Buffer, error) {
		c, err := program(dir)
		if err != nil {
			return nil, nil, err
		}
		out := new(bytes.Buffer)
		c.Dir, c.Stdout, c.Stderr, c.SysProcAttr = dir, out, out, childAttributes(quit)
		c.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC", "HOME=" + dir}
		return c, out, unprivileged(c, dir)
	}
	if setup != nil {
		c, out, err := prepare(setup)
		if err != nil {
			return nil, err
		}
		if err := c.Run(); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", c, err, out)
		}
	}
	c, out, err := prepare(command)
	if err != nil {
		return nil, err
	}
	started, done := make(chan error), make(chan struct{})
	go func() {
		// The kernel takes the thread that forked for the parent, so that thread has to live as long as the child.
		runtime.LockOSThread()
		err := c.Start()
		started <- err
		if err == nil {
			_ = c.Wait()
			close(done)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	s.stop = func() {
		_ = c.Process.Signal(quit)
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			_ = c.Process.Kill()
			<-done
		}
		_ = os.RemoveAll(dir)
	}
	db, err := sql.Open(driver, dsn(dir))
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	bound := time.After(30 * time.Second)
	for {
		err := db.PingContext(context.Background())
		if err == nil {
			return s, nil
		}
		select {
		case <-done:
			return nil, fmt.Errorf("%s ended:\n%s", c, out)
		case <-bound:
			return nil, fmt.Errorf("%s: no answer: %w", c, err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

var postgres = sync.OnceValues(func() (*server, error) {
	return serve("pgx", syscall.SIGQUIT, postgresDSN,
		func(dir string) (*exec.Cmd, error) {
			initdb, err := find("initdb")
			return exec.Command(initdb, "-D", filepath.Join(dir, "data"), "-U", "guards", "-A", "trust", "-E", "UTF8",
				"--locale=C", "--no-sync"), err
		},
		func(dir string) (*exec.Cmd, error) {
			binary, err := find("postgres")
			return exec.Command(binary, "-D", filepath.Join(dir, "data"), "-k", dir, "-c", "listen_addresses=", "-c", "fsync=off",
				"-c", "max_connections=100", "-c", "lock_timeout=20s"), err
		})
})

func postgresDSN(dir string) string {
	return "host=" + dir + " user=guards dbname=postgres sslmode=disable"
}

// Without its own tables, which nobody needs who is not asked who he is, it starts at once in an empty directory.
var mariadb = sync.OnceValues(func() (*server, error) {
	return serve("mysql", syscall.SIGKILL, func(dir string) string { return mariadbDSN(dir, "") }, nil,
		func(dir string) (*exec.Cmd, error) {
			binary, err := find("mariadbd")
			return exec.Command(binary, "--no-defaults", "--datadir="+dir, "--socket="+filepath.Join(dir, "s"), "--pid-file="+filepath.Join(dir, "pid"),
				"--skip-networking", "--skip-grant-tables", "--innodb-buffer-pool-size=16M", "--innodb-log-file-size=4M",
				"--innodb-flush-log-at-trx-commit=0"), err
		})
})

func mariadbDSN(dir, database string) string {
	return "root@unix(" + filepath.Join(dir, "s") + ")/" + database
}

func TestAMissingServerSaysHowToInstallIt(t *testing.T) {
	_, err := find("no-such-server")
	require.ErrorContains(t, err, "make deps")
}
