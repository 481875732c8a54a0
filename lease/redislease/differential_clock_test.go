package redislease_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lease/redislease"
)

// TestRedisAndMemoryAnswerAlikeWhileTheClockSteps is TestRedisAndMemoryAnswerAlike with a clock of the store that is put
// two hours ahead and back, for what leases do: they are compared by what remains of them, in whole hours.
func TestRedisAndMemoryAnswerAlikeWhileTheClockSteps(t *testing.T) {
	srv := redistest.Start(t, redistest.WithClock())
	s, admin := open(t, srv.Addr(), redislease.WithTimeout(20*time.Second)), srv.Client(t)
	rapid.Check(t, func(t *rapid.T) {
		srv.SetClock(0)
		p := &pair{
			ctx: context.Background(), redis: s, memory: new(memlease.Store), admin: admin,
			bases: [][2]int64{{0, 0}}, terms: []time.Duration{long}, // tiny ones would run out between a restart and its comparison
		}
		p.forget(t)
		ahead := time.Duration(0)
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				p.compare(t)
				p.compareRemaining(t)
			},
			"claim":  p.claim,
			"again":  p.claim,
			"repeat": p.repeat,
			"renew":  p.renew,
			"end":    p.end,
			"sync":   p.sync,
			"step": func(*rapid.T) {
				by := 2 * time.Hour
				if ahead > 0 {
					by = -by
				}
				ahead += by
				srv.SetClock(ahead)
				p.memory.Step(by)
			},
		})
	})
}

func (p *pair) compareRemaining(t *rapid.T) {
	hours := func(open []lease.Open) (list []time.Duration) {
		for _, o := range open {
			list = append(list, o.Left.Round(time.Hour))
		}
		slices.Sort(list) // a renewal may change the order
		return list
	}
	for _, name := range names {
		got, want := p.inspect(t, name)
		require.Equal(t, hours(want.Open), hours(got.Open), name)
	}
}
