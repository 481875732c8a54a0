package redistest

import (
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// WithReplicaOf makes the server a replica of another, from which it reads at once. The replica may
// then be promoted.
func WithReplicaOf(master *Server) Option { return WithReplicaOfAddr(master.Addr()) }

// WithReplicaOfAddr makes the server a replica of what listens there, such as a proxy in front of a
// server.
func WithReplicaOfAddr(addr string) Option {
	return func(o *options) {
		WithConf("replicaof", strings.Split(addr, ":")...)(o)
		WithConf("repl-diskless-sync-delay", "0")(o) // of its own replicas, once it is promoted
	}
}

// StartSentinel starts a Sentinel that watches master by that name. It takes master for down when
// quorum Sentinels have received nothing from it for downAfter, and then has a replica promoted.
func StartSentinel(t testing.TB, name string, master *Server, quorum int, downAfter time.Duration, opts ...Option) *Server {
	t.Helper()
	return Start(t, func(o *options) {
		o.args = append(o.args, "--sentinel")
		o.lines = []string{ // it knows nothing of what servers persist
			line("sentinel", "monitor", name, host, strconv.Itoa(master.port), strconv.Itoa(quorum)),
			line("sentinel", "down-after-milliseconds", name, strconv.FormatInt(downAfter.Milliseconds(), 10)),
			line("sentinel", "failover-timeout", name, strconv.FormatInt(2*downAfter.Milliseconds(), 10)),
			line("sentinel", "parallel-syncs", name, "2"),
		}
		for _, opt := range opts {
			opt(o)
		}
	})
}

// MasterName is how the Sentinels of [StartWatched] call their master.
const MasterName = "main"

// Watched are a master, two replicas and three Sentinels that watch them.
type Watched struct {
	Servers   map[string]*Server // by address
	Sentinels []*Server

	t testing.TB
}

// StartWatched starts them, and returns when the Sentinels know each other and both replicas. They
// take the master for lost after half a second. servers and sentinels are further options of the
// ones and the others.
func StartWatched(t testing.TB, servers, sentinels []Option) *Watched {
	t.Helper()
	master := Start(t, append([]Option{WithConf("repl-diskless-sync-delay", "0")}, servers...)...)
	w := &Watched{t: t, Servers: map[string]*Server{master.Addr(): master}}
	for range 2 {
		r := Start(t, append([]Option{WithReplicaOf(master)}, servers...)...)
		w.Servers[r.Addr()] = r
	}
	admin := master.Client(t)
	await(t, "the replicas are not in step", func() bool {
		info, err := admin.Info(t.Context(), "replication").Result()
		return err == nil && strings.Count(info, "state=online") == 2
	})
	for range 3 {
		w.Sentinels = append(w.Sentinels, StartSentinel(t, MasterName, master, 2, 500*time.Millisecond, sentinels...))
	}
	for _, s := range w.Sentinels {
		admin := s.Client(t)
		await(t, "the Sentinels do not find each other", func() bool {
			info, err := admin.Info(t.Context(), "sentinel").Result()
			return err == nil && strings.Contains(info, "status=ok") && strings.Contains(info, "slaves=2,sentinels=3")
		})
	}
	return w
}

// Addrs are the addresses of the Sentinels.
func (w *Watched) Addrs() (addrs []string) {
	for _, s := range w.Sentinels {
		addrs = append(addrs, s.Addr())
	}
	return addrs
}

// Master is the server that the first Sentinel takes for the master.
func (w *Watched) Master() *Server {
	w.t.Helper()
	addr, err := w.Sentinels[0].Client(w.t).Do(w.t.Context(), "sentinel", "get-master-addr-by-name", MasterName).StringSlice()
	if err != nil {
		w.t.Fatalf("ask Sentinel for the master: %v", err)
	}
	return w.Servers[net.JoinHostPort(addr[0], addr[1])]
}

// FailOver does something to the master and returns the old one and the new one when the Sentinels
// have agreed.
func (w *Watched) FailOver(do func(master *Server)) (before, after *Server) {
	w.t.Helper()
	before = w.Master()
	do(before)
	await(w.t, "no replica is promoted", func() bool {
		after = w.Master()
		return after != before
	})
	return before, after
}

// Settle makes replicas of the masters that were replaced, and waits until the master has all
// replicas again. Sentinels do that as well, but only after eight seconds.
func (w *Watched) Settle() {
	w.t.Helper()
	admins := map[*Server]*redis.Client{}
	for _, s := range w.Servers {
		admins[s] = s.Client(w.t)
	}
	await(w.t, "the replicas do not come back", func() bool {
		master := w.Master()
		for s, admin := range admins {
			if info, err := admin.Info(w.t.Context(), "replication").Result(); s != master && err == nil && strings.Contains(info, "role:master") {
				_ = admin.ReplicaOf(w.t.Context(), host, strconv.Itoa(master.port)).Err()
			}
		}
		info, err := admins[master].Info(w.t.Context(), "replication").Result()
		return err == nil && strings.Contains(info, "role:master") && strings.Count(info, "state=online") == 2
	})
}
