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

// CheckServers looks at every server that the configuration leads to. It writes nothing there.
func CheckServers(ctx context.Context, s *stores.Store, cfg *config.Config) []Finding {
	switch c := s.Connection; {
	case c.Cluster != nil:
		return checkCluster(ctx, s, cfg)
	case c.Sentinel != nil:
		return checkSentinels(ctx, s, cfg)
	case c.Quorum != nil:
		return checkQuorum(ctx, s, cfg)
	default:
		p := newServer(s, cfg, s.Streams, "")
		found := p.check(ctx)
		if found[0].Result == Fail {
			return found
		}
		return p.coordinates(ctx, found)
	}
}

// coordinates adds what is to be said of the store as a whole.
func (p *server) coordinates(ctx context.Context, found []Finding) []Finding {
	found = append(found, p.clock(ctx))
	if p.waits > 0 || p.grace > 0 {
		found = append(found, p.failover())
	}
	return found
}

// checkCluster looks at each master.
func checkCluster(ctx context.Context, s *stores.Store, cfg *config.Config) []Finding {
	client := s.Streams.(*redis.ClusterClient)
	masters := &servers{}
	err := client.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		p := newServer(s, cfg, node, node.Options().Addr)
		p.found = p.check(ctx)
		masters.add(p)
		return nil
	})
	if err != nil {
		f := Finding{Check: "reachable", Result: Fail, Finding: fmt.Sprintf("%s: %v", s.Addr, err), Change: s.Advice(err)}
		if strings.Contains(err.Error(), "cluster support disabled") {
			f.Finding = fmt.Sprintf("%s: this server is not part of a Redis Cluster", s.Addr)
			f.Change = fmt.Sprintf("write url: redis://%s in redis instead of addrs and cluster", cfg.Redis.Addrs[0])
			f.Fatal = misconfigured(f)
		}
		return []Finding{f}
	}
	found := masters.findings()
	if len(masters.list) == 0 {
		return found
	}
	found = append(found, clusterState(ctx, s, client), masters.clocks(ctx, "masters"))
	least := slices.MinFunc(masters.list, func(a, b *server) int { // which is the first that WAIT would fail at
		return cmp.Compare(a.number("connected_slaves"), b.number("connected_slaves"))
	})
	return least.coordinates(ctx, found)
}

// clusterState asks whether every slot is served.
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
		f.Result, f.Finding = Fail, "a slot is not served: jobs whose records are kept there do not run"
		f.Change = "see redis-cli --cluster check, and whether a master has failed and has no replica"
	}
	return f
}

// checkSentinels looks at each Sentinel, and at the primary that they name.
func checkSentinels(ctx context.Context, s *stores.Store, cfg *config.Config) []Finding {
	sentinels := s.Connection.Sentinels()
	found := slices.Repeat([]Finding{{}}, len(sentinels))
	named := make([]string, len(sentinels))
	var looks sync.WaitGroup
	for i, client := range sentinels {
		looks.Go(func() {
			defer func() { _ = client.Close() }()
			found[i], named[i] = checkSentinel(ctx, client, cfg.Redis.Master)
			found[i].Server = cfg.Redis.Addrs[i]
		})
	}
	looks.Wait()
	primaries := slices.Compact(slices.Sorted(slices.Values(named)))
	primaries = slices.DeleteFunc(primaries, func(addr string) bool { return addr == "" })
	switch len(primaries) {
	case 0: // what a single one lacks may be a mistake there, but nobody can work with these
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
	p := newServer(s, cfg, s.Streams, primaries[0])
	found = append(found, p.check(ctx)...)
	return p.coordinates(ctx, found)
}

// checkSentinel asks one Sentinel for the primary, and whether a failover could be decided.
func checkSentinel(ctx context.Context, client *redis.SentinelClient, master string) (f Finding, primary string) {
	f = Finding{Check: "sentinel", Result: Warn}
	addr, err := client.GetMasterAddrByName(ctx, master).Result()
	switch {
	case errors.Is(err, redis.Nil):
		f.Finding = fmt.Sprintf("it knows no primary called %q", master)
		f.Change = "write the name that is in its sentinel monitor as redis.master" + knownMasters(ctx, client)
		f.Fatal = misconfigured(f)
		return f, ""
	case err != nil && strings.Contains(err.Error(), "unknown command"):
		f.Finding = "this is no Sentinel"
		f.Change = "list the Sentinels in redis.addrs, whose port is 26379 by default; a server without Sentinel is written as redis.url"
		f.Fatal = misconfigured(f)
		return f, ""
	case err != nil:
		f.Finding, f.Change = fmt.Sprint(err), "see whether this Sentinel runs, and redis.sentinel_password; the others are asked meanwhile"
		return f, ""
	}
	primary = strings.Join(addr, ":")
	said, err := client.CkQuorum(ctx, master).Result()
	if err != nil {
		f.Finding = fmt.Sprintf("names %s, but no failover can be decided: %v", primary, err)
		f.Change = "start the Sentinels that are away"
		return f, primary
	}
	f.Result, f.Finding = OK, fmt.Sprintf("names %s; %s", primary, strings.TrimPrefix(said, "OK "))
	return f, primary
}

// knownMasters names what a Sentinel watches, as far as it says.
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

// checkQuorum looks at each node. One that is away is no failure of the whole.
func checkQuorum(ctx context.Context, s *stores.Store, cfg *config.Config) []Finding {
	nodes := &servers{}
	var looks sync.WaitGroup
	for _, client := range s.Nodes {
		p := newServer(s, cfg, client, client.Options().Addr)
		nodes.add(p)
		looks.Go(func() { p.found = p.check(ctx) })
	}
	looks.Wait()
	away := 0
	for _, p := range nodes.list {
		if f := &p.found[0]; f.Result == Fail {
			f.Result = Warn
			away++
		}
	}
	found := nodes.findings()
	f := Finding{Check: "majority", Result: OK, Finding: fmt.Sprintf("%d of %d nodes answer", len(s.Nodes)-away, len(s.Nodes))}
	if _, _, err := s.Time(ctx); err != nil {
		f.Result, f.Finding, f.Change = Fail, err.Error(), s.Advice(err)
		return append(found, f)
	}
	found = append(found, f, nodes.clocks(ctx, "nodes"))
	return nodes.list[0].coordinates(ctx, found)
}

// servers are several servers that are examined at once.
type servers struct {
	mu   sync.Mutex
	list []*server
}

func (all *servers) add(p *server) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.list = append(all.list, p)
}

// findings are those about each, server by server.
func (all *servers) findings() (found []Finding) {
	slices.SortFunc(all.list, func(a, b *server) int { return strings.Compare(a.addr, b.addr) })
	for _, p := range all.list {
		found = append(found, p.found...)
	}
	return found
}

// clocks compares the servers' clocks with each other.
func (all *servers) clocks(ctx context.Context, what string) Finding {
	offsets := make([]time.Duration, len(all.list))
	known := make([]bool, len(all.list))
	var asks sync.WaitGroup
	for i, p := range all.list {
		asks.Go(func() {
			began := time.Now()
			if now, err := p.client.Time(ctx).Result(); err == nil {
				offsets[i], known[i] = now.Sub(began.Add(time.Since(began)/2)), true
			}
		})
	}
	asks.Wait()
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
	f.Finding = fmt.Sprintf("those of the %s are within %s", what, max(apart.Round(time.Millisecond), time.Millisecond))
	if apart > time.Second {
		f.Result = Warn
		f.Finding = fmt.Sprintf("those of the %s are %s apart: ticks are judged by them", what, apart.Round(time.Millisecond))
		f.Change = "let NTP keep the clocks of all servers"
	}
	return f
}

// misconfigured is the error with which a replica ends that cannot work with this configuration.
func misconfigured(f Finding) error {
	where := ""
	if f.Server != "" {
		where = f.Server + ": "
	}
	return &exitcode.ConfigError{Err: fmt.Errorf("redis: %s%s: %s", where, f.Finding, f.Change)}
}
