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

	"github.com/solotick/solotick/cmd/worker/internal/output"
	"github.com/solotick/solotick/cmd/worker/internal/stores"
	"github.com/solotick/solotick/config"
)

// server is one server that is examined.
type server struct {
	client    redis.UniversalClient
	addr      string // where there are several servers; else ""
	store     *stores.Store
	namespace string
	waits     int           // how many replicas of Redis each write waits for
	grace     time.Duration // for how long nothing new is granted after a failover
	ttl       time.Duration // of leases

	info    map[string]string // what INFO says, or the little of it that HELLO says
	infoErr error
	found   []Finding
}

func newServer(s *stores.Store, cfg *config.Config, client redis.UniversalClient, addr string) *server {
	return &server{
		client: client, addr: addr, store: s, namespace: cfg.Namespace,
		waits: cfg.Redis.WaitReplicas, grace: cfg.Redis.FailoverGrace, ttl: cfg.Lease.TTL,
	}
}

// check checks what there is to know about one server without writing there. The first finding is whether it answers; without
// that there is no other.
func (p *server) check(ctx context.Context) []Finding {
	found := []Finding{p.reachable(ctx, cmp.Or(p.addr, p.store.Addr))}
	if found[0].Result != Fail {
		p.ask(ctx)
		found = append(found, p.version(), p.mode(), p.role(ctx), p.eviction(), p.memory(), p.persistence(ctx))
	}
	for i := range found {
		found[i].Server = p.addr
	}
	return found
}

// reachable measures the best of a few round trips: the first connects.
func (p *server) reachable(ctx context.Context, addr string) Finding {
	var best time.Duration
	for i := range 5 {
		began := time.Now()
		if err := p.client.Ping(ctx).Err(); err != nil && !isForbidden(err) {
			return Finding{Check: "reachable", Result: Fail, Finding: fmt.Sprintf("%s: %v", addr, err), Change: p.store.Advice(err)}
		}
		if took := time.Since(began); i == 0 || took < best {
			best = took
		}
	}
	f := Finding{Check: "reachable", Result: OK, Finding: fmt.Sprintf("%s answers in %s", addr, best.Round(10*time.Microsecond))}
	if best > 100*time.Millisecond {
		f.Result, f.Change = Warn, "run the replicas nearer to Redis: every claim waits for it"
	}
	return f
}

// ask asks for what most checks look at.
func (p *server) ask(ctx context.Context) {
	var text string
	p.info = map[string]string{}
	if text, p.infoErr = p.client.Info(ctx).Result(); p.infoErr != nil {
		p.greeting(ctx)
		return
	}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			p.info[key] = value
		}
	}
}

// greeting asks for what every user may know: version, mode and role.
func (p *server) greeting(ctx context.Context) {
	said, err := p.client.Do(ctx, "hello").Result()
	fields, ok := said.(map[any]any)
	if err != nil || !ok {
		return
	}
	text := func(key string) string { v, _ := fields[key].(string); return v }
	p.info["redis_mode"], p.info["role"] = text("mode"), text("role")
	version := "redis_version"
	if text("server") == "valkey" {
		version = "valkey_version"
	}
	p.info[version] = text("version")
	if text("mode") == "cluster" {
		p.info["cluster_enabled"] = "1"
	}
	if text("role") == "replica" {
		p.info["role"] = "slave"
	}
}

func isForbidden(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "NOPERM") || strings.Contains(err.Error(), "unknown command"))
}

// unchecked is a finding that could not be made, for want of INFO.
func (p *server) unchecked(check string) Finding {
	change := ""
	if isForbidden(p.infoErr) {
		change = "to have it checked, let the user of redis call INFO"
	}
	return Finding{Check: check, Result: Unchecked, Finding: fmt.Sprintf("could not be checked: INFO: %v", p.infoErr), Change: change}
}

func (p *server) number(key string) int64 {
	n, _ := strconv.ParseInt(p.info[key], 10, 64)
	return n
}

func (p *server) version() Finding {
	if p.infoErr != nil && p.info["redis_version"]+p.info["valkey_version"] == "" {
		return p.unchecked("version")
	}
	name, version, least := "Redis", p.info["redis_version"], [2]int{7, 0}
	if v, ok := p.info["valkey_version"]; ok {
		name, version, least = "Valkey", v, [2]int{7, 2}
	}
	f := Finding{Check: "version", Result: OK, Finding: name + " " + version}
	if olderThan(version, least) {
		f.Result = Fail
		f.Change = "use Redis 7.0 or Valkey 7.2, or later: the scripts of this program need it"
		f.Fatal = fmt.Errorf("Redis at %s: %s is too old: %s", cmp.Or(p.addr, p.store.Addr), f.Finding, f.Change) //nolint:staticcheck // Redis is a name
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

// mode checks that the server is what the configuration takes it for.
func (p *server) mode() Finding {
	if p.info["redis_mode"] == "" {
		return p.unchecked("mode")
	}
	f := Finding{Check: "mode", Result: OK, Finding: "a server of its own", Server: p.addr}
	inCluster := p.info["cluster_enabled"] == "1"
	switch c := p.store.Connection; {
	case p.info["redis_mode"] == "sentinel":
		f.Result, f.Finding = Fail, "this is a Sentinel, which keeps no records"
		f.Change = fmt.Sprintf("write addrs: [%q] with master: NAME in redis, NAME being that of its sentinel monitor", p.address())
		f.Fatal = misconfigured(f)
	case inCluster && c.Cluster == nil:
		f.Result, f.Finding = Fail, "this is a server of a Redis Cluster, or in its mode: leases in different slots cannot be renewed together, and others keep other records"
		f.Change = fmt.Sprintf("write addrs: [%q] with cluster: true in redis instead of url", p.address())
		if c.Quorum != nil {
			f.Change = "name servers in redis.quorum that are not part of a Cluster"
		}
		f.Fatal = misconfigured(f)
	case inCluster:
		f.Finding = "Redis Cluster"
	}
	return f
}

// address is the server's, for a hint of what to write.
func (p *server) address() string { return cmp.Or(p.addr, p.store.Addr) }

func (p *server) role(ctx context.Context) Finding {
	f := Finding{Check: "replication", Result: OK}
	if p.info["role"] == "slave" {
		f.Result, f.Finding = Fail, "this is a replica: nothing can be claimed here"
		if host := p.info["master_host"]; host != "" {
			f.Finding = fmt.Sprintf("this is a replica of %s:%s: nothing can be claimed here", host, p.info["master_port"])
		}
		f.Change = "name the primary in redis.url"
		if c := p.store.Connection; c.Sentinel != nil || c.Cluster != nil {
			f.Change = "wait for the failover to end"
		}
		return f
	}
	if p.infoErr != nil {
		return p.unchecked("replication")
	}
	count, quorum := int(p.number("connected_slaves")), p.store.Connection.Quorum != nil
	switch {
	case p.info["min_slaves_good_slaves"] != "" && p.number("min_slaves_good_slaves") < p.least(ctx):
		f.Result = Fail
		f.Finding = fmt.Sprintf("primary, with %s good replicas, and min-replicas-to-write wants %d: it refuses writes", p.info["min_slaves_good_slaves"], p.least(ctx))
		f.Change = p.store.Advice(errNoReplicas)
	case count == 0:
		f.Finding = "primary, without replicas"
	default:
		f.Finding = fmt.Sprintf("primary, with %s", output.Count(count, "replica"))
		if p.least(ctx) == 0 && p.waits == 0 && p.grace == 0 && !quorum {
			f.Result = Warn
			f.Finding += "; a failover forgets what they have not received, however long they lag: for one TTL two replicas may run a tick"
			f.Change = "set redis.wait_replicas or redis.failover_grace, or min-replicas-to-write 1 and min-replicas-max-lag to a few seconds, and let jobs check fencing tokens"
			if p.store.Connection.Cluster != nil {
				f.Change = strings.Replace(f.Change, "redis.wait_replicas or redis.failover_grace", "redis.wait_replicas", 1)
			}
		}
	}
	return f
}

// failover looks at what the configuration wants to happen to writes that a failover would lose.
func (p *server) failover() Finding {
	f := Finding{Check: "failover", Result: OK}
	count := int(p.number("connected_slaves"))
	switch {
	case p.infoErr != nil && p.grace > 0:
		f.Result, f.Finding = Fail, fmt.Sprintf("redis.failover_grace needs INFO: %v", p.infoErr)
		f.Change = "let the user of redis call INFO, or remove redis.failover_grace"
	case p.infoErr != nil:
		return p.unchecked("failover")
	case p.waits > count:
		f.Result = Fail
		f.Finding = fmt.Sprintf("redis.wait_replicas is %d, and there %s: nothing can be claimed", p.waits, areReplicas(count))
		f.Change = "look at the replicas of Redis, or lower redis.wait_replicas"
	case p.waits > 0 && p.waits < count:
		f.Result = Warn
		f.Finding = fmt.Sprintf("each write waits for %d of %d replicas: a failover to another one may forget it", p.waits, count)
		f.Change = fmt.Sprintf("set redis.wait_replicas %d, or let jobs check fencing tokens", count)
	case p.waits > 0:
		f.Finding = "each write waits for all replicas: while one is away nothing can be claimed"
	default:
		f.Finding = fmt.Sprintf("nothing new is granted for %s after a failover, a restart or a loss of data", p.grace)
	}
	return f
}

func areReplicas(count int) string {
	if count == 1 {
		return "is 1 replica"
	}
	return fmt.Sprintf("are %d replicas", count)
}

var errNoReplicas = errors.New("NOREPLICAS")

// least is how many replicas Redis wants before it accepts writes; -1 when it does not tell.
func (p *server) least(ctx context.Context) int64 {
	value, err := p.config(ctx, "min-replicas-to-write")
	if err != nil {
		return -1
	}
	n, _ := strconv.ParseInt(value, 10, 64)
	return n
}

// config asks for one setting.
func (p *server) config(ctx context.Context, name string) (string, error) {
	values, err := p.client.ConfigGet(ctx, name).Result()
	return values[name], err
}

func (p *server) eviction() Finding {
	if p.infoErr != nil {
		return p.unchecked("eviction")
	}
	policy, known := p.info["maxmemory_policy"]
	f := Finding{Check: "eviction", Result: OK, Finding: "maxmemory-policy is " + policy}
	switch {
	case !known:
		f.Result, f.Finding = Unchecked, "could not be checked: this server does not tell its maxmemory-policy"
	case policy == "noeviction":
	case p.number("maxmemory") == 0:
		f.Result = Warn
		f.Finding += ", and would lose records if maxmemory were set"
		f.Change = "set maxmemory-policy noeviction"
	default:
		f.Result = Fail
		f.Finding += ": when memory runs out, records of jobs are lost"
		f.Change = "set maxmemory-policy noeviction, or use a Redis that is not a cache"
	}
	return f
}

func (p *server) memory() Finding {
	if p.infoErr != nil {
		return p.unchecked("memory")
	}
	used, most := p.number("used_memory"), p.number("maxmemory")
	f := Finding{Check: "memory", Result: OK, Finding: size(used) + " used, no maxmemory"}
	if most == 0 {
		return f
	}
	share := float64(used) / float64(most)
	f.Finding = fmt.Sprintf("%s of maxmemory %s used, %.0f%%", size(used), size(most), 100*share)
	switch {
	case share >= 1:
		f.Result, f.Change = Fail, "raise maxmemory: nothing new can be claimed until there is room"
	case share >= 0.8:
		f.Result, f.Change = Warn, "raise maxmemory: when it is used up nothing new can be claimed"
	}
	return f
}

func size(bytes int64) string {
	const unit = 1024
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	n, i := float64(bytes), 0
	for ; n >= unit && i < len(units)-1; i++ {
		n /= unit
	}
	if i == 0 {
		return fmt.Sprintf("%d B", bytes)
	}
	return fmt.Sprintf("%.1f %s", n, units[i])
}

func (p *server) persistence(ctx context.Context) Finding {
	if p.infoErr != nil {
		return p.unchecked("persistence")
	}
	tells := "No tick runs twice for that while a replica lives, but history, pauses and triggers are gone"
	f := Finding{Check: "persistence", Result: OK}
	if p.store.Connection.Quorum != nil {
		tells = "The others know it all, but if most of them restart, history, pauses and triggers are gone"
	}
	save, saveErr := p.config(ctx, "save")
	switch {
	case p.info["aof_enabled"] == "1" && p.info["aof_last_write_status"] == "err":
		f.Result, f.Finding, f.Change = Fail, "the append-only file cannot be written: Redis refuses writes", "see the log of Redis, and whether its disk is full"
	case p.info["aof_enabled"] == "1":
		f.Finding = "append-only file"
		if sync, err := p.config(ctx, "appendfsync"); err == nil {
			f.Finding += map[string]string{
				"always": ", each write on disk before its answer", "everysec": ": a crash of the machine loses a second at most",
				"no": ": a crash of the machine loses what the system has not written",
			}[sync]
		}
	case p.info["rdb_last_bgsave_status"] == "err":
		f.Result, f.Finding, f.Change = Fail, "the last snapshot failed: Redis may refuse writes", "see the log of Redis, and whether its disk is full"
	case saveErr == nil && save == "":
		f.Result, f.Finding = Warn, "nothing is kept: a restart is empty. "+tells
		f.Change = "set appendonly yes"
	case saveErr == nil:
		f.Result, f.Finding = Warn, fmt.Sprintf("snapshots only (save %s): a restart goes back to the last one. %s", save, strings.Replace(tells, "are", "since then are", 1))
		f.Change = "set appendonly yes"
	default:
		f.Result, f.Finding = Warn, "no append-only file: a restart goes back to the last snapshot, or is empty. "+tells
		f.Change = "set appendonly yes"
	}
	return f
}

// clock compares this machine's with that of Redis, by the best of a few samples.
func (p *server) clock(ctx context.Context) Finding {
	var offset, best time.Duration
	for i := range 5 {
		began := time.Now()
		now, _, err := p.store.Time(ctx)
		took := time.Since(began)
		if err != nil {
			return Finding{Check: "clock", Result: Unchecked, Finding: fmt.Sprintf("could not be checked: %v", err)}
		}
		if i == 0 || took < best {
			offset, best = began.Add(took/2).Round(0).Sub(now), took
		}
	}
	return clockFinding(offset, best)
}

// clockFinding judges by how much this machine's clock is ahead of that of Redis. Half the round trip is how well that can
// be known.
func clockFinding(offset, best time.Duration) Finding {
	f := Finding{Check: "clock", Result: OK}
	switch {
	case offset.Abs() <= best:
		f.Finding = fmt.Sprintf("this machine's agrees with that of Redis, within %s", best.Round(10*time.Microsecond))
	case offset > 0:
		f.Finding = fmt.Sprintf("this machine's is %s ahead of that of Redis; ticks come by that of Redis", offset.Round(100*time.Microsecond))
	default:
		f.Finding = fmt.Sprintf("this machine's is %s behind that of Redis; ticks come by that of Redis", -offset.Round(100*time.Microsecond))
	}
	switch {
	case offset.Abs() >= max(clockFails, best):
		f.Result = Fail
		f.Finding += ". One of the two is wrong; if it is that of Redis, all ticks are"
		f.Change = "find out which of the two is wrong, and let NTP keep both clocks"
	case offset.Abs() >= max(clockWarns, best):
		f.Result, f.Change = Warn, "let NTP keep both clocks: logs and what jobs do by this machine's clock are as wrong as that"
	}
	return f
}
