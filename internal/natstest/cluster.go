package natstest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
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
	nc := servers[0].Connect(t)
	AwaitJetStream(t, nc)
	return servers
}

// AwaitJetStream returns when the servers of a connection answer requests of JetStream.
func AwaitJetStream(t testing.TB, nc *nats.Conn) {
	t.Helper()
	for end := time.Now().Add(answerBound); ; time.Sleep(20 * time.Millisecond) {
		answer, err := nc.Request("$JS.API.STREAM.NAMES", nil, time.Second)
		if err == nil && !strings.Contains(string(answer.Data), `"error"`) {
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

// Leader returns which server leads a stream; nil when none does.
func Leader(t testing.TB, nc *nats.Conn, stream string, servers []*Server) *Server {
	t.Helper()
	answer, err := nc.Request("$JS.API.STREAM.INFO."+stream, nil, time.Second)
	if err != nil {
		return nil
	}
	for _, s := range servers {
		if strings.Contains(string(answer.Data), fmt.Sprintf(`"leader":"s%d"`, s.port)) {
			return s
		}
	}
	return nil
}
