package benchmarks

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
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

	commands map[string]commandLoad
}

// commandLoad counts a server's work for one command, without sending its messages to subscribers.
type commandLoad struct{ calls, us float64 }

func (l redisLoad) minus(before redisLoad) redisLoad {
	return l.plus(redisLoad{-before.scripts, -before.cpu, -before.in, -before.out, negative(before.commands)})
}

func (l redisLoad) plus(other redisLoad) redisLoad {
	commands := maps.Clone(other.commands)
	for name, c := range l.commands {
		commands[name] = commandLoad{c.calls + commands[name].calls, c.us + commands[name].us}
	}
	return redisLoad{l.scripts + other.scripts, l.cpu + other.cpu, l.in + other.in, l.out + other.out, commands}
}

func negative(commands map[string]commandLoad) map[string]commandLoad {
	list := make(map[string]commandLoad, len(commands))
	for name, c := range commands {
		list[name] = commandLoad{-c.calls, -c.us}
	}
	return list
}

// dearest says what the server spent the most time on. That of a script contains that of the
// commands which it calls.
func (l redisLoad) dearest() string {
	names := slices.SortedFunc(maps.Keys(l.commands), func(a, b string) int { return cmp.Compare(l.commands[b].us, l.commands[a].us) })
	var text strings.Builder
	for _, name := range names[:min(len(names), 8)] {
		_, _ = fmt.Fprintf(&text, "%s: %.0f calls, %.1f ms; ", name, l.commands[name].calls, l.commands[name].us/1000)
	}
	return text.String()
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
	l.commands = make(map[string]commandLoad)
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
		default:
			if command, ok := strings.CutPrefix(field, "cmdstat_"); ok {
				l.commands[command] = commandLoadOf(b, value)
			}
		}
		switch field {
		case "cmdstat_eval", "cmdstat_evalsha", "cmdstat_fcall":
			l.scripts += commandLoadOf(b, value).calls
		}
	}
	return l
}

// commandLoadOf reads calls=N,usec=N,...
func commandLoadOf(b *testing.B, value string) (c commandLoad) {
	for field := range strings.SplitSeq(value, ",") {
		switch name, n, _ := strings.Cut(field, "="); name {
		case "calls":
			c.calls = number(b, n)
		case "usec":
			c.us = number(b, n)
		}
	}
	return c
}

func number(b *testing.B, text string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	require.NoError(b, err)
	return n
}
