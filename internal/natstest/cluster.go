package natstest

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// StartCluster starts three servers that replicate streams, and returns when they have a leader.
func StartCluster(t testing.TB) []*Server {
	t.Helper()
	var routes []string
	for range 3 {
		routes = append(routes, fmt.Sprintf("%s:%d", host, freePort(t)))
	}
	var servers []*Server
	for _, own := range routes {
		servers = append(servers, prepare(t, WithConf(fmt.Sprintf("cluster { name: test, listen: %q, routes: [%s], no_advertise: true }",
			own, `"nats://`+strings.Join(routes, `", "nats://`)+`"`))))
	}
	for _, s := range servers {
		s.launch()
	}
	for _, s := range servers {
		s.await()
	}
	awaitJetStream(t, servers[0])
	return servers
}

// awaitJetStream returns when a server answers requests of JetStream.
func awaitJetStream(t testing.TB, s *Server) {
	t.Helper()
	for end := time.Now().Add(answerBound); ; time.Sleep(20 * time.Millisecond) {
		answer, err := s.request("$JS.API.STREAM.NAMES")
		if err == nil && !strings.Contains(answer, `"error"`) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("no answer from JetStream: %v", err)
		}
	}
}

// URL returns a URL of several servers.
func URL(servers ...*Server) string {
	var list []string
	for _, s := range servers {
		list = append(list, s.URL())
	}
	return strings.Join(list, ",")
}

// Leader asks one server after another which of them leads a stream, and returns the first answer.
// It returns nil if none answers, or if the stream has no leader.
func Leader(stream string, servers []*Server) *Server {
	for _, asked := range servers {
		answer, err := asked.request("$JS.API.STREAM.INFO." + stream)
		if err != nil {
			continue
		}
		for _, s := range servers {
			if strings.Contains(answer, fmt.Sprintf(`"leader":"s%d"`, s.port)) {
				return s
			}
		}
		return nil
	}
	return nil
}

// request sends an empty message, as no user, and returns the first one that answers it. It speaks
// the protocol of clients itself, so that who runs a server needs none of them.
func (s *Server) request(subject string) (string, error) {
	conn, err := net.Dial("tcp", s.Addr())
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintf(conn, "CONNECT {\"verbose\":false}\r\nSUB answers 1\r\nPUB %s answers 0\r\n\r\n", subject); err != nil {
		return "", err
	}
	for lines := bufio.NewReader(conn); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return "", err
		}
		if strings.HasPrefix(line, "-ERR") {
			return "", errors.New(strings.TrimSpace(line))
		}
		if strings.HasPrefix(line, "MSG ") {
			return lines.ReadString('\r') // JSON, which has none
		}
	}
}
