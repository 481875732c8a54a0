// Package zktest runs real ZooKeeper servers for a test. It does to them what operations and
// accidents do: freeze them, kill them, start them again, empty them, restore a backup.
//
// Every [Server] is a Java process with a directory and ports of its own on the loopback address.
// A standalone server answers after half a second. It ends at [Server.Stop], or with the test
// process, even if that is killed.
package zktest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/solotick/solotick/internal/proctest"
	"github.com/solotick/solotick/internal/skewtest"
)

// ErrNotInstalled is matched when there is no ZooKeeper, or no Java, on this machine.
var ErrNotInstalled = errors.New("not installed")

// Tick is the tickTime of every server: a session may last from 2 to 20 of them.
const Tick = 200 * time.Millisecond

// Server is one ZooKeeper server. Its methods are safe for concurrent use.
type Server struct {
	dir  string
	port int

	clock *skewtest.Clock // nil for that of the machine

	mu     sync.Mutex
	proc   *proctest.Process // nil while it does not run
	frozen bool
}

// Start is Launch for one test, which fails without a server and stops it at its end. Settings are
// further lines of the server's configuration.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	s, err := Launch(settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// StartWithClock is LaunchWithClock for one test.
func StartWithClock(t testing.TB, settings ...string) *Server {
	t.Helper()
	s, err := LaunchWithClock(settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// LaunchWithClock is Launch of a server whose clock a test may move: see [Server.SetClock].
func LaunchWithClock(settings ...string) (*Server, error) {
	s, err := prepare(freePorts(1)[0], settings...)
	if err != nil {
		return nil, err
	}
	if s.clock, err = skewtest.NewClock(s.dir); err == nil {
		err = s.launch()
	}
	if err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// SetClock sets how far the server's wall clock is ahead of the machine's. [LaunchWithClock] must have
// started the server.
func (s *Server) SetClock(t testing.TB, ahead time.Duration) {
	t.Helper()
	if err := s.clock.Set(ahead); err != nil {
		t.Fatal(err)
	}
}

// Launch starts a standalone server, and returns when it answers.
func Launch(settings ...string) (*Server, error) {
	s, err := prepare(freePorts(1)[0], settings...)
	if err != nil {
		return nil, err
	}
	if err := s.launch(); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

func prepare(port int, settings ...string) (*Server, error) {
	if _, err := classes(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "zk")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, port: port}
	text := strings.Join(append([]string{
		"dataDir=" + filepath.Join(dir, "data"), "clientPortAddress=127.0.0.1", "clientPort=" + strconv.Itoa(port),
		"tickTime=" + strconv.FormatInt(Tick.Milliseconds(), 10), "admin.enableServer=false", "forceSync=no", "maxClientCnxns=0",
	}, settings...), "\n")
	return s, errors.Join(os.Mkdir(filepath.Join(dir, "data"), 0o700), os.WriteFile(filepath.Join(dir, "zoo.cfg"), []byte(text), 0o600))
}

// classes returns the class path of ZooKeeper: the directory in SOLOTICK_TEST_ZOOKEEPER, or the one
// of the package of Debian or Homebrew.
func classes() (string, error) {
	if _, err := exec.LookPath("java"); err == nil {
		if other := proctest.Other("ZOOKEEPER"); other != "" {
			return filepath.Join(other, "*"), nil
		}
		const debian, homebrew = "/usr/share/java/", "/opt/homebrew/opt/zookeeper/libexec/lib/"
		if _, err := os.Stat(debian + "zookeeper.jar"); err == nil {
			return debian + "zookeeper.jar:" + debian + "slf4j-simple.jar", nil
		}
		if _, err := os.Stat(homebrew); err == nil {
			return homebrew + "*", nil
		}
	}
	return "", fmt.Errorf("%w: this test needs ZooKeeper and Java: run `make deps`", ErrNotInstalled)
}

// Addr returns host:port. It stays the same for the life of the server, restarts included.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// Kill kills the server, as SIGKILL does, frozen or not.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.killLocked()
}

func (s *Server) killLocked() {
	if s.proc != nil {
		s.proc.Kill()
	}
	s.proc, s.frozen = nil, false
}

// Restart kills the server if it runs, and starts it again with everything that it had confirmed.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.Kill()
	if err := s.launch(); err != nil {
		t.Fatal(err)
	}
}

// Freeze sends SIGSTOP to the server. Thaw resumes it.
func (s *Server) Freeze(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.frozen {
		return
	}
	if err := s.proc.Freeze(); err != nil {
		t.Fatalf("freeze ZooKeeper: %v", err)
	}
	s.frozen = true
}

// Thaw resumes a frozen server.
func (s *Server) Thaw(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.proc.Thaw(); err != nil {
		t.Fatalf("thaw ZooKeeper: %v", err)
	}
	s.frozen = false
}

// Backup kills the server, copies what it keeps, and starts it again.
func (s *Server) Backup(t testing.TB) (backup string) {
	t.Helper()
	s.Kill()
	backup = filepath.Join(t.TempDir(), "data")
	if err := os.CopyFS(backup, os.DirFS(s.data())); err != nil {
		t.Fatal(err)
	}
	s.Restart(t)
	return backup
}

// Restore kills the server, and starts it with the data of a backup, or with none if backup is "".
func (s *Server) Restore(t testing.TB, backup string) {
	t.Helper()
	s.Kill()
	if err := os.RemoveAll(s.data()); err != nil {
		t.Fatal(err)
	}
	err := os.Mkdir(s.data(), 0o700)
	if backup != "" && err == nil {
		err = os.CopyFS(s.data(), os.DirFS(backup))
	}
	if err != nil {
		t.Fatal(err)
	}
	s.Restart(t)
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// Stop ends the server for good, and removes what it kept.
func (s *Server) Stop() {
	s.Kill()
	_ = os.RemoveAll(s.dir)
}

// launch starts the process, and returns when it answers.
func (s *Server) launch() error {
	path, err := classes()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := new(bytes.Buffer) // read only after the process has ended
	cmd := exec.Command("java", "-Xmx128m", "-Xms32m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dzookeeper.preAllocSize=256",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", path, "org.apache.zookeeper.server.quorum.QuorumPeerMain", "zoo.cfg")
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, out, out
	if s.clock != nil {
		cmd.Env = append(os.Environ(), s.clock.Env()...)
	}
	if s.proc, err = proctest.Start(cmd); err != nil {
		return err
	}
	bound := time.Now().Add(60 * time.Second)
	for {
		err := s.greet()
		if err == nil {
			return nil
		}
		select {
		case <-s.proc.Done():
			return fmt.Errorf("ZooKeeper ended: %w\n%s", s.proc.Err(), out)
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(bound) {
			s.killLocked()
			return fmt.Errorf("ZooKeeper does not answer: %w\n%s", err, out)
		}
	}
}

// greet opens a session, which the server does only once it serves, and closes it.
func (s *Server) greet() error {
	conn, err := net.DialTimeout("tcp", s.Addr(), time.Second)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(2 * time.Second)); err != nil {
		return err
	}
	var hello []byte
	for _, field := range []any{
		int32(44), int32(0), int64(0), int32(1000), int64(0), int32(16), [16]byte{}, // a session of 1 s
		int32(8), int32(1), int32(-11), // its end
	} {
		if hello, err = binary.Append(hello, binary.BigEndian, field); err != nil {
			return err
		}
	}
	if _, err := conn.Write(hello); err != nil {
		return err
	}
	_, err = io.ReadFull(conn, make([]byte, 4+36+4+16)) // both answers
	return err
}

// freePorts returns ports below those that the kernel hands out to outgoing connections. A server
// closes its own while no leader is elected, and one of these could take them for good.
func freePorts(n int) (ports []int) {
	const lowest, past = 10000, 32768
	for tries := 0; len(ports) < n; tries++ {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", lowest+rand.IntN(past-lowest)))
		switch {
		case err == nil:
			defer func() { _ = l.Close() }() // not one twice
			ports = append(ports, l.Addr().(*net.TCPAddr).Port)
		case tries > 100+n:
			panic(err)
		}
	}
	return ports
}
