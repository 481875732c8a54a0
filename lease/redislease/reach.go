package redislease

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/internal/steady"
)

// mostGap is the longest gap between answers of a server of a Cluster that its users allow.
const mostGap = time.Minute

// answered reports whether a server has answered a command, be it with an error.
func answered(cmd *redis.Cmd) bool {
	err := cmd.Err()
	var of redis.Error
	return err == nil || errors.As(err, &of)
}

// ReachedSince implements [protocol.Store]. A store that is no Cluster answers as a whole.
func (s *store) ReachedSince(name string, gap time.Duration) (since, until steady.Instant, ok bool) {
	if s.router.cluster == nil {
		return 0, 0, true
	}
	if !s.router.found.Load() {
		return 0, 0, false
	}
	node, err := s.router.cluster.MasterForKey(context.Background(), Key(s.namespace, name))
	if err != nil {
		return 0, 0, false
	}
	p := s.router.pipeTo(node)
	p.contact.Limit(gap)
	return p.contact.Since(steady.Now())
}

// probe asks the servers of a Cluster that have not answered for a while, so that a gap in their
// answers shows that they were away. It waits for none.
func (r *router) probe() {
	if r.cluster == nil {
		return
	}
	r.mu.Lock()
	pipes := slices.Collect(maps.Values(r.pipes))
	r.mu.Unlock()
	for _, p := range pipes {
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), r.timeout)
			defer cancel()
			_, _ = p.do(ctx, redis.NewCmd(ctx, "ping"))
		}()
	}
}
