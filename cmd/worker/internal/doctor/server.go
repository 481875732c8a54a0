package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/cmd/worker/internal/stores"
	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/internal/redisadvice"
	"github.com/solotick/solotick/internal/render"
)

// server is one server and the known facts about it.
type server struct {
	client    redis.UniversalClient
	addr      string // where there are several servers; else ""
	store     *stores.Store
	namespace string
	waits     int           // redis.wait_replicas
	grace     time.Duration // redis.failover_grace
	ttl       time.Duration // of leases

	info    map[string]string // fields of INFO, or the few that HELLO returns
	infoErr error
	found   []Finding
}

func newServer(s *stores.Store, cfg *config.Config, client redis.UniversalClient, addr string) *server {
	return &server{
		client: client, addr: addr, store: s, namespace: cfg.Namespace,
		waits: cfg.Redis.WaitReplicas, grace: cfg.Redis.FailoverGrace, ttl: cfg.Lease.TTL,
	}
}

// check makes the findings about one server, and writes nothing there. The first finding is whether
// it answers. If it does not, there are no others.
func (srv *server) check(ctx context.Context) []Finding {
	found := []Finding{srv.reachable(ctx, cmp.Or(srv.addr, srv.store.Addr))}
	if found[0].Result != Fail {
		srv.readInfo(ctx)
		found = append(found, srv.version(), srv.mode(), srv.role(ctx),
			srv.byInfo(ctx, "eviction", srv.eviction), srv.byInfo(ctx, "memory", srv.memory), srv.byInfo(ctx, "persistence", srv.persistence))
	}
	for i := range found {
		found[i].Server = srv.addr
	}
	return found
}

// byInfo makes the finding of a check that needs INFO.
func (srv *server) byInfo(ctx context.Context, name string, check func(context.Context, Finding) Finding) Finding {
	if srv.infoErr != nil {
		return srv.unchecked(name)
	}
	return check(ctx, Finding{Check: name, Result: OK})
}

// reachable measures the fastest of five round trips. The first one also connects.
func (srv *server) reachable(ctx context.Context, addr string) Finding {
	var best time.Duration
	for i := range 5 {
		began := time.Now()
		if err := srv.client.Ping(ctx).Err(); err != nil && !isForbidden(err) {
			return Finding{Check: "reachable", Result: Fail, Finding: fmt.Sprintf("%s: %v", addr, err), Change: srv.store.Advice(err)}
		}
		if took := time.Since(began); i == 0 || took < best {
			best = took
		}
	}
	f := Finding{Check: "reachable", Result: OK, Finding: fmt.Sprintf("%s answers in %s", addr, best.Round(10*time.Microsecond))}
	if best > 100*time.Millisecond {
		f.Result, f.Change = Warn, "run the replicas closer to Redis: each claim takes a round trip"
	}
	return f
}

// readInfo reads the fields of INFO, which most checks need.
func (srv *server) readInfo(ctx context.Context) {
	var text string
	text, srv.infoErr = srv.client.Info(ctx).Result()
	srv.info = redisadvice.Fields(text)
	if srv.infoErr != nil {
		srv.readHello(ctx)
	}
}

// readHello reads version, mode and role. Every user may call HELLO.
func (srv *server) readHello(ctx context.Context) {
	reply, err := srv.client.Do(ctx, "hello").Result()
	fields, ok := reply.(map[any]any)
	if err != nil || !ok {
		return
	}
	text := func(key string) string { v, _ := fields[key].(string); return v }
	srv.info["redis_mode"], srv.info["role"] = text("mode"), text("role")
	version := "redis_version"
	if text("server") == "valkey" {
		version = "valkey_version"
	}
	srv.info[version] = text("version")
	if text("mode") == "cluster" {
		srv.info["cluster_enabled"] = "1"
	}
	if text("role") == "replica" {
		srv.info["role"] = "slave"
	}
}

func isForbidden(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "NOPERM") || strings.Contains(err.Error(), "unknown command"))
}

// unchecked is the finding of a check that needs INFO, where the server refuses it.
func (srv *server) unchecked(check string) Finding {
	change := ""
	if isForbidden(srv.infoErr) {
		change = "to have it checked, let the user of redis call INFO"
	}
	return Finding{Check: check, Result: Unchecked, Finding: fmt.Sprintf("could not be checked: INFO: %v", srv.infoErr), Change: change}
}

// number returns a field of INFO; 0 when there is none.
func (srv *server) number(key string) int64 {
	n, _ := strconv.ParseInt(srv.info[key], 10, 64)
	return n
}

func (srv *server) version() Finding {
	if srv.infoErr != nil && srv.info["redis_version"]+srv.info["valkey_version"] == "" {
		return srv.unchecked("version")
	}
	name, version, least := "Redis", srv.info["redis_version"], [2]int{7, 0}
	if v, ok := srv.info["valkey_version"]; ok {
		name, version, least = "Valkey", v, [2]int{7, 2}
	}
	f := Finding{Check: "version", Result: OK, Finding: name + " " + version}
	if olderThan(version, least) {
		f.Result = Fail
		f.Change = "use Redis 7.0 or Valkey 7.2, or later: the scripts of this program need it"
		f.Fatal = fmt.Errorf("Redis at %s: %s is too old: %s", cmp.Or(srv.addr, srv.store.Addr), f.Finding, f.Change) //nolint:staticcheck // Redis is a name
	}
	return f
}

func olderThan(version string, least [2]int) bool {
	parts := strings.SplitN(version, ".", 3)
	var v [2]int
	for i := range min(2, len(parts)) {
		v[i], _ = strconv.Atoi(parts[i])
	}
	return v[0] < least[0] || v[0] == least[0] && v[1] < least[1]
}

// mode checks that the server has the mode that the configuration expects.
func (srv *server) mode() Finding {
	if srv.info["redis_mode"] == "" {
		return srv.unchecked("mode")
	}
	f := Finding{Check: "mode", Result: OK, Finding: "standalone", Server: srv.addr}
	inCluster := srv.info["cluster_enabled"] == "1"
	switch c := srv.store.Connection; {
	case srv.info["redis_mode"] == "sentinel":
		f.Result, f.Finding = Fail, "this is a Sentinel, which stores no records"
		f.Change = fmt.Sprintf("set redis to addrs: [%q] and master: NAME, with the name in its sentinel monitor", srv.address())
		f.Fatal = misconfigured(f)
	case inCluster && c.Cluster == nil:
		f.Result, f.Finding = Fail, "this server is in Cluster mode: it has only a part of the records, and cannot renew leases of different slots together"
		f.Change = fmt.Sprintf("set redis to addrs: [%q] and cluster: true instead of url", srv.address())
		if c.Quorum != nil {
			f.Change = "name servers in redis.quorum that are not in Cluster mode"
		}
		f.Fatal = misconfigured(f)
	case inCluster:
		f.Finding = "Redis Cluster"
	}
	return f
}

// address returns the address of the server.
func (srv *server) address() string { return cmp.Or(srv.addr, srv.store.Addr) }

// role checks that the server is a primary, and what its Redis replicas mean for a failover.
func (srv *server) role(ctx context.Context) Finding {
	f := Finding{Check: "replication", Result: OK}
	if srv.info["role"] == "slave" {
		f.Result, f.Finding = Fail, "this is a Redis replica: no tick can be claimed here"
		if host := srv.info["master_host"]; host != "" {
			f.Finding = fmt.Sprintf("this is a Redis replica of %s:%s: no tick can be claimed here", host, srv.info["master_port"])
		}
		f.Change = "set redis.url to the primary"
		if c := srv.store.Connection; c.Sentinel != nil || c.Cluster != nil {
			f.Change = "wait for the failover to end"
		}
		return f
	}
	if srv.infoErr != nil {
		return srv.unchecked("replication")
	}
	count, quorum := int(srv.number("connected_slaves")), srv.store.Connection.Quorum != nil
	switch {
	case srv.info["min_slaves_good_slaves"] != "" && srv.number("min_slaves_good_slaves") < srv.minReplicas(ctx):
		f.Result = Fail
		f.Finding = fmt.Sprintf("primary, with %s good Redis replicas, but min-replicas-to-write is %d: it refuses writes", srv.info["min_slaves_good_slaves"], srv.minReplicas(ctx))
		f.Change = srv.store.Advice(errNoReplicas)
	case count == 0:
		f.Finding = "primary, without Redis replicas"
	default:
		f.Finding = fmt.Sprintf("primary, with %s", render.Count(count, "Redis replica"))
		if srv.minReplicas(ctx) == 0 && srv.waits == 0 && srv.grace == 0 && !quorum {
			f.Result = Warn
			f.Finding += "; a failover loses writes that they have not received, and nothing bounds their lag: two replicas of the fleet may run one tick for up to a TTL"
			f.Change = "set redis.wait_replicas or redis.failover_grace, or min-replicas-to-write to 1 and min-replicas-max-lag to a few seconds, and let jobs check fencing tokens"
			if srv.store.Connection.Cluster != nil {
				f.Change = strings.Replace(f.Change, "redis.wait_replicas or redis.failover_grace", "redis.wait_replicas", 1)
			}
		}
	}
	return f
}

// failover checks wait_replicas and failover_grace, which protect the writes that a failover would
// lose.
func (srv *server) failover() Finding {
	f := Finding{Check: "failover", Result: OK}
	count := int(srv.number("connected_slaves"))
	switch {
	case srv.infoErr != nil && srv.grace > 0:
		f.Result, f.Finding = Fail, fmt.Sprintf("redis.failover_grace needs INFO: %v", srv.infoErr)
		f.Change = "let the user of redis call INFO, or remove redis.failover_grace"
	case srv.infoErr != nil:
		return srv.unchecked("failover")
	case srv.waits > count:
		f.Result = Fail
		f.Finding = fmt.Sprintf("redis.wait_replicas is %d, and the primary has %s: no tick can be claimed", srv.waits, render.Count(count, "Redis replica"))
		f.Change = "start more Redis replicas, or lower redis.wait_replicas"
	case srv.waits > 0 && srv.waits < count:
		f.Result = Warn
		f.Finding = fmt.Sprintf("each write waits for %d of %d Redis replicas: a failover to another one may lose it", srv.waits, count)
		f.Change = fmt.Sprintf("set redis.wait_replicas to %d, or let jobs check fencing tokens", count)
	case srv.waits > 0:
		f.Finding = "each write waits for all Redis replicas: while one of them does not answer, no tick can be claimed"
	default:
		f.Finding = fmt.Sprintf("no new tick is granted for %s after a failover, a restart or a loss of data", srv.grace)
	}
	return f
}

var errNoReplicas = errors.New("NOREPLICAS")

// minReplicas returns min-replicas-to-write; -1 when the server does not return it.
func (srv *server) minReplicas(ctx context.Context) int64 {
	value, err := srv.config(ctx, "min-replicas-to-write")
	if err != nil {
		return -1
	}
	n, _ := strconv.ParseInt(value, 10, 64)
	return n
}

// config reads one setting of the server.
func (srv *server) config(ctx context.Context, name string) (string, error) {
	values, err := srv.client.ConfigGet(ctx, name).Result()
	return values[name], err
}
