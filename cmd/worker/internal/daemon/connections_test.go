package daemon

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/config"
)

// atMost serves with a limit of connections, at a handler that answers /wait when released is closed.
func atMost(t *testing.T, most int, released chan struct{}) (addr string) {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { text(w, http.StatusOK, "ok\n") })
	mux.HandleFunc("/wait", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-released
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := newServer(config.Server{}, mux, quiet)
	s.conns.most = most
	s.serve(listener, func(err error) { t.Error(err) })
	t.Cleanup(func() { require.NoError(t, s.stop(t.Context())) })
	return listener.Addr().String()
}

func connect(t *testing.T, addr string) net.Conn {
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
	return conn
}

// ask sends a request, and returns the first line of the answer.
func ask(conn net.Conn, path string) (string, error) {
	if _, err := io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		return "", err
	}
	return bufio.NewReader(conn).ReadString('\n')
}

func TestHalfOpenConnectionsAreBounded(t *testing.T) {
	addr := atMost(t, 3, nil)
	var half []net.Conn
	for range 20 {
		half = append(half, connect(t, addr))
	}
	line, err := ask(connect(t, addr), "/")
	require.NoError(t, err)
	require.Equal(t, "HTTP/1.1 200 OK\r\n", line, "who asks for something is answered")
	for _, conn := range half[:17] {
		_, err := conn.Read(make([]byte, 1))
		require.Error(t, err, "the server has closed it")
	}
}

func TestRequestInProgressKeepsItsConnection(t *testing.T) {
	released := make(chan struct{})
	addr := atMost(t, 2, released)
	busy := []net.Conn{connect(t, addr), connect(t, addr)}
	for _, conn := range busy {
		line, err := ask(conn, "/wait")
		require.NoError(t, err)
		require.Equal(t, "HTTP/1.1 200 OK\r\n", line)
	}
	_, err := ask(connect(t, addr), "/")
	require.Error(t, err, "there is no room")
	close(released)
	for _, conn := range busy {
		rest, err := bufio.NewReader(conn).ReadString('\n')
		require.NoError(t, err)
		require.NotEmpty(t, rest)
	}
}

func TestConnectionsLeaveFileDescriptorsToRuns(t *testing.T) {
	var before syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before))
	t.Cleanup(func() { require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before)) })
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 256, Max: before.Max}))
	require.Equal(t, 64, newConnections(quiet).most)
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before))
	require.LessOrEqual(t, newConnections(quiet).most, 2500)
}

func TestAddressOfIPv4ListensOnThatAlone(t *testing.T) {
	for addr, network := range map[string]string{"0.0.0.0:0": "0.0.0.0", ":0": "::", "[::]:0": "::"} {
		listener, err := newServer(config.Server{Addr: config.Address{HostPort: addr, Given: true}}, nil, quiet).bind(t.Context())
		require.NoError(t, err)
		host, _, err := net.SplitHostPort(listener.Addr().String())
		require.NoError(t, err)
		require.Equal(t, network, host, addr)
		require.NoError(t, listener.Close())
	}
}
