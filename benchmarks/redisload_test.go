package benchmarks

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/redistest"
)

// redisLoad holds the counters of a server since it started, from INFO.
type redisLoad struct {
	scripts float64       // calls of EVAL, EVALSHA and FCALL
	cpu     time.Duration // processor time of the server, in user and system mode
	in, out float64       // bytes, without those of this measurement
}

func (l redisLoad) minus(before redisLoad) redisLoad {
	return redisLoad{l.scripts - before.scripts, l.cpu - before.cpu, l.in - before.in, l.out - before.out}
}

func (l redisLoad) plus(other redisLoad) redisLoad {
	return redisLoad{l.scripts + other.scripts, l.cpu + other.cpu, l.in + other.in, l.out + other.out}
}

// redisGauge reads the load of a server over a connection of its own.
type redisGauge struct {
	client *redis.Client
	out    float64 // bytes that its own answers have cost so far
}

func newRedisGauge(b *testing.B, server *redistest.Server) *redisGauge {
	// A saturated server answers late, and is measured all the same.
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), ReadTimeout: time.Minute, MaxRetries: -1})
	b.Cleanup(func() { _ = client.Close() })
	return &redisGauge{client: client}
}

func (g *redisGauge) read(b *testing.B) (l redisLoad) {
	text, err := g.client.Info(context.Background(), "cpu", "stats", "commandstats").Result()
	require.NoError(b, err)
	own := g.out // the answer counts its predecessors, and not itself
	g.out += float64(len(text))
	for line := range strings.Lines(text) {
		field, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			continue
		}
		switch field {
		case "used_cpu_sys", "used_cpu_user":
			l.cpu += time.Duration(number(b, value) * float64(time.Second))
		case "total_net_input_bytes":
			l.in = number(b, value)
		case "total_net_output_bytes":
			l.out = number(b, value) - own
		case "cmdstat_eval", "cmdstat_evalsha", "cmdstat_fcall":
			calls, _, _ := strings.Cut(strings.TrimPrefix(value, "calls="), ",")
			l.scripts += number(b, calls)
		}
	}
	return l
}

func number(b *testing.B, text string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	require.NoError(b, err)
	return n
}
