package redistest

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

// WithReplicaOf makes the server a replica of another, from which it reads at once. The replica may then be promoted.
func WithReplicaOf(master *Server) Option { return WithReplicaOfAddr(master.Addr()) }

// WithReplicaOfAddr makes the server a replica of what listens there, such as a proxy in front of a server.
func WithReplicaOfAddr(addr string) Option {
	return func(o *options) {
		WithConf("replicaof", strings.Split(addr, ":")...)(o)
		WithConf("repl-diskless-sync-delay", "0")(o) // of its own replicas, once it is promoted
	}
}

// StartSentinel starts a Sentinel that watches master by that name. It takes master for down when quorum Sentinels have
// heard nothing of it for downAfter, and then has a replica promoted.
func StartSentinel(t testing.TB, name string, master *Server, quorum int, downAfter time.Duration) *Server {
	t.Helper()
	return Start(t, func(o *options) {
		o.args = append(o.args, "--sentinel")
		o.lines = []string{ // it knows nothing of what servers persist
			line("sentinel", "monitor", name, host, strconv.Itoa(master.port), strconv.Itoa(quorum)),
			line("sentinel", "down-after-milliseconds", name, strconv.FormatInt(downAfter.Milliseconds(), 10)),
			line("sentinel", "failover-timeout", name, strconv.FormatInt(2*downAfter.Milliseconds(), 10)),
			line("sentinel", "parallel-syncs", name, "2"),
		}
	})
}
