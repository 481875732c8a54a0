package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/cmd/worker/internal/exitcode"
	"github.com/solotick/solotick/cmd/worker/internal/stores"
	"github.com/solotick/solotick/config"
)

// CheckStore checks a file, another server, or each server of the configured store: of Redis, a Cluster or a
// quorum, and the Sentinels. It writes nothing there.
func CheckStore(ctx context.Context, s *stores.Store, cfg *config.Config) []Finding {
	switch c := s.Connection; {
	case s.Checker != nil:
		return checkOther(ctx, s)
	case c.Cluster != nil:
		return checkCluster(ctx, s, cfg)
	case c.Sentinel != nil:
		return checkSentinels(ctx, s, cfg)
	case c.Quorum != nil:
		return checkQuorum(ctx, s, cfg)
	default:
		srv := newServer(s, cfg, s.Streams, "")
		found := srv.check(ctx)
		if found[0].Result == Fail {
			return found
		}
		return srv.checkStore(ctx, found)
	}
}

// checkStore adds the findings about the store as a whole.
func (srv *server) checkStore(ctx context.Context, found []Finding) []Finding {
	found = append(found, checkClock(ctx, srv.store, "Redis"))
	if srv.waits > 0 || srv.grace > 0 {
		found = append(found, srv.failover())
	}
	return found
}

// checkCluster checks each primary of a Cluster.
func checkCluster(ctx context.Context, s *stores.Store, cfg *config.Config) []Finding {
	client := s.Streams.(*redis.ClusterClient)
	primaries := &servers{}
	err := client.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		srv := newServer(s, cfg, node, node.Options().Addr)
		srv.found = srv.check(ctx)
		primaries.add(srv)
		return nil
	})
	if err != nil {
		f := Finding{Check: "reachable", Result: Fail, Finding: fmt.Sprintf("%s: %v", s.Addr, err), Change: s.Advice(err)}
		if strings.Contains(err.Error(), "cluster support disabled") {
			f.Finding = fmt.Sprintf("%s: this server is not in Cluster mode", s.Addr)
			f.Change = fmt.Sprintf("set redis to url: redis://%s instead of addrs and cluster", cfg.Redis.Addrs[0])
			f.Fatal = misconfigured(f)
		}
		return []Finding{f}
	}
	found := primaries.findings()
	if len(primaries.list) == 0 {
		return found
	}
	found = append(found, clusterState(ctx, s, client), primaries.clocks(ctx, "primaries"))
	least := slices.MinFunc(primaries.list, func(a, b *server) int { // WAIT fails there first
		return cmp.Compare(a.number("connected_slaves"), b.number("connected_slaves"))
	})
	return least.checkStore(ctx, found)
}

// clusterState checks that every slot is served.
func clusterState(ctx context.Context, s *stores.Store, client *redis.ClusterClient) Finding {
	f := Finding{Check: "cluster", Result: OK, Finding: "every slot is served"}
	info, err := client.ClusterInfo(ctx).Result()
	switch {
	case isForbidden(err):
		f.Result, f.Finding = Unchecked, fmt.Sprintf("could not be checked: CLUSTER INFO: %v", err)
		f.Change = "to have it checked, let the user of redis call CLUSTER INFO: +cluster|info"
	case err != nil:
		f.Result, f.Finding, f.Change = Fail, fmt.Sprintf("CLUSTER INFO: %v", err), s.Advice(err)
	case !strings.Contains(info, "cluster_state:ok"):
		f.Result, f.Finding = Fail, "a slot is not served: jobs whose records are in it do not run"
		f.Change = "see redis-cli --cluster check, and whether a primary has failed and has no Redis replica"
	}
	return f
}

// checkSentinels checks each Sentinel, and the primary that they name.
func checkSentinels(ctx context.Context, s *stores.Store, cfg *config.Config) []Finding {
	sentinels := s.Connection.Sentinels()
	found := slices.Repeat([]Finding{{}}, len(sentinels))
	named := make([]string, len(sentinels))
	var checks sync.WaitGroup
	for i, client := range sentinels {
		checks.Go(func() {
			defer func() { _ = client.Close() }()
			found[i], named[i] = checkSentinel(ctx, client, cfg.Redis.Master)
			found[i].Server = cfg.Redis.Addrs[i]
		})
	}
	checks.Wait()
	primaries := slices.Compact(slices.Sorted(slices.Values(named)))
	primaries = slices.DeleteFunc(primaries, func(addr string) bool { return addr == "" })
	switch len(primaries) {
	case 0: // one Sentinel can be wrong, but none of these knows a primary
		for i := range found {
			found[i].Result = Fail
		}
		if !slices.ContainsFunc(found, func(f Finding) bool { return f.Fatal == nil }) {
			return found
		}
		for i := range found {
			found[i].Fatal = nil
		}
		return found
	case 1:
	default:
		found = append(found, Finding{Check: "sentinel", Result: Fail,
			Finding: fmt.Sprintf("the Sentinels do not agree about the primary: %s", strings.Join(primaries, ", ")),
			Change:  "wait for the failover to end; if it does not, see the logs of the Sentinels"})
	}
	for i := range found {
		found[i].Fatal = nil
	}
	srv := newServer(s, cfg, s.Streams, primaries[0])
	found = append(found, srv.check(ctx)...)
	return srv.checkStore(ctx, found)
}

// checkSentinel asks one Sentinel for the primary, and whether enough Sentinels are reachable for a
// failover.
func checkSentinel(ctx context.Context, client *redis.SentinelClient, master string) (f Finding, primary string) {
	f = Finding{Check: "sentinel", Result: Warn}
	addr, err := client.GetMasterAddrByName(ctx, master).Result()
	switch {
	case errors.Is(err, redis.Nil):
		f.Finding = fmt.Sprintf("it knows no primary called %q", master)
		f.Change = "set redis.master to the name in its sentinel monitor" + knownMasters(ctx, client)
		f.Fatal = misconfigured(f)
		return f, ""
	case err != nil && strings.Contains(err.Error(), "unknown command"):
		f.Finding = "this is no Sentinel"
		f.Change = "list the Sentinels in redis.addrs (their default port is 26379); set redis.url for a server without Sentinel"
		f.Fatal = misconfigured(f)
		return f, ""
	case err != nil:
		f.Finding, f.Change = fmt.Sprint(err), "check that this Sentinel runs, and redis.sentinel_password; the worker asks the others meanwhile"
		return f, ""
	}
	primary = strings.Join(addr, ":")
	said, err := client.CkQuorum(ctx, master).Result()
	if err != nil {
		f.Finding = fmt.Sprintf("names %s, but no failover can be decided: %v", primary, err)
		f.Change = "start the Sentinels that do not run"
		return f, primary
	}
	f.Result, f.Finding = OK, fmt.Sprintf("names %s; %s", primary, strings.TrimPrefix(said, "OK "))
	return f, primary
}

// knownMasters returns a hint with the names that a Sentinel watches, or an empty one.
func knownMasters(ctx context.Context, client *redis.SentinelClient) string {
	list, err := client.Masters(ctx).Result()
	if err != nil {
		return ""
	}
	var names []string
	for _, m := range list {
		if fields, ok := m.(map[any]any); ok {
			names = append(names, fmt.Sprint(fields["name"]))
			continue
		}
		fields, _ := m.([]any)
		for i := 0; i+1 < len(fields); i += 2 {
			if fields[i] == "name" {
				names = append(names, fmt.Sprint(fields[i+1]))
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ": it watches " + strings.Join(names, ", ")
}

// checkNodes checks each node of a quorum by itself. A single one that does not answer is a warning.
func checkNodes(ctx context.Context, s *stores.Store, cfg *config.Config) (nodes *servers, unreachable int) {
	nodes = &servers{}
	var checks sync.WaitGroup
	for _, client := range s.Nodes {
		srv := newServer(s, cfg, client, client.Options().Addr)
		nodes.add(srv)
		checks.Go(func() { srv.found = srv.check(ctx) })
	}
	checks.Wait()
	for _, srv := range nodes.list {
		if f := &srv.found[0]; f.Result == Fail {
			f.Result = Warn
			unreachable++
		}
	}
	return nodes, unreachable
}

// checkQuorum checks each node, and whether a majority can be counted.
func checkQuorum(ctx context.Context, s *stores.Store, cfg *config.Config) []Finding {
	nodes, unreachable := checkNodes(ctx, s, cfg)
	found := nodes.findings()
	f := Finding{Check: "majority", Result: OK, Finding: fmt.Sprintf("%d of %d nodes answer", len(s.Nodes)-unreachable, len(s.Nodes))}
	if _, _, err := s.Time(ctx); err != nil {
		f.Result, f.Finding, f.Change = Fail, err.Error(), s.Advice(err)
		return append(found, f)
	}
	found = append(found, f, nodes.clocks(ctx, "nodes"))
	return nodes.list[0].checkStore(ctx, found)
}

// servers are servers that are checked at the same time.
type servers struct {
	mu   sync.Mutex
	list []*server
}

func (all *servers) add(srv *server) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.list = append(all.list, srv)
}

// findings returns the findings of each server, in the order of their addresses.
func (all *servers) findings() (found []Finding) {
	slices.SortFunc(all.list, func(a, b *server) int { return strings.Compare(a.addr, b.addr) })
	for _, srv := range all.list {
		found = append(found, srv.found...)
	}
	return found
}

// clocks compares the clocks of the servers.
func (all *servers) clocks(ctx context.Context, what string) Finding {
	offsets := make([]time.Duration, len(all.list))
	known := make([]bool, len(all.list))
	var requests sync.WaitGroup
	for i, srv := range all.list {
		requests.Go(func() {
			began := time.Now()
			if now, err := srv.client.Time(ctx).Result(); err == nil {
				offsets[i], known[i] = now.Sub(began.Add(time.Since(began)/2)), true
			}
		})
	}
	requests.Wait()
	var first, last *time.Duration
	for i := range offsets {
		if !known[i] {
			continue
		}
		if o := &offsets[i]; first == nil || *o < *first {
			first = o
		}
		if o := &offsets[i]; last == nil || *o > *last {
			last = o
		}
	}
	f := Finding{Check: "clocks", Result: OK}
	if first == nil {
		f.Result, f.Finding = Unchecked, fmt.Sprintf("could not be checked: none of the %s answers TIME", what)
		return f
	}
	apart := *last - *first
	f.Finding = fmt.Sprintf("the clocks of the %s agree within %s", what, max(apart.Round(time.Millisecond), time.Millisecond))
	if apart > time.Second {
		f.Result = Warn
		f.Finding = fmt.Sprintf("the clocks of the %s differ by %s: they decide when ticks are due", what, apart.Round(time.Millisecond))
		f.Change = "synchronize the clocks of all servers with NTP"
	}
	return f
}

// misconfigured returns the error of a configuration that no replica can run with.
func misconfigured(f Finding) error {
	where := ""
	if f.Server != "" {
		where = f.Server + ": "
	}
	return &exitcode.ConfigError{Err: fmt.Errorf("redis: %s%s: %s", where, f.Finding, f.Change)}
}
