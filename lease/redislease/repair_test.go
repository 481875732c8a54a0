package redislease_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lease/redislease"
)

// TestRepairForgetsTriggersOfTheFuture does what needs a clock that is wrong, and then right again,
// on Redis and in memory.
func TestRepairForgetsTriggersOfTheFuture(t *testing.T) {
	srv := redistest.Start(t, redistest.WithClock())
	memory := new(memlease.Store)
	for name, test := range map[string]struct {
		store protocol.Store
		jump  func(ahead time.Duration)
	}{
		"redis": {open(t, srv.Addr(), redislease.WithTimeout(20*time.Second)), srv.SetClock},
		"memory": {memory, func() func(time.Duration) {
			was := time.Duration(0)
			return func(d time.Duration) { memory.Step(d - was); was = d }
		}()},
	} {
		t.Run(name, func(t *testing.T) {
			s, ctx := test.store, t.Context()
			trigger := func(want protocol.TriggerStatus, request string) protocol.Triggered {
				t.Helper()
				a, err := s.Trigger(ctx, protocol.Trigger{
					Name: "job", By: "ops", Request: request, Key: "k", Window: time.Hour,
				})
				require.NoError(t, err)
				require.Equal(t, want, a.Status, "%+v", a)
				return a
			}
			claim := func(tick int64, onlyOpen bool) protocol.Answer {
				t.Helper()
				a, err := s.Claim(ctx, protocol.Claim{Name: "job", Tick: tick, Holder: "a", Request: "r", TTL: time.Minute, OnlyOpen: onlyOpen})
				require.NoError(t, err)
				return a
			}
			now := func() int64 { return time.Now().UnixMilli() }
			_, err := s.Sync(ctx, []protocol.Sync{{
				Name: "job", Watermark: now() - 1000, Revision: "r1", Schedule: "UTC @every 1s",
				Policy: protocol.Policy{Every: time.Hour, Burst: 1, Beside: true},
			}})
			require.NoError(t, err)

			test.jump(8 * time.Hour)
			first := trigger(protocol.Opened, "t1").Tick
			require.Greater(t, first, now()+time.Hour.Milliseconds())
			a := claim(first, true)
			require.NoError(t, s.Settle(ctx, protocol.Grant{
				Name: "job", Tick: first, Holder: "a", Request: "r", Token: a.Token, Attempt: 1, TTL: time.Minute,
			}, "succeeded"))
			_, err = s.Sync(ctx, []protocol.Sync{{Name: "job", Revision: "r2", Schedule: "UTC @every 2s"}})
			require.NoError(t, err)
			_, err = s.Pause(ctx, "job", protocol.Pause{By: "ops"})
			require.NoError(t, err)
			test.jump(0)

			trigger(protocol.Repeated, "t2")
			r, err := s.Repair(ctx, protocol.Repair{Name: "job"})
			require.NoError(t, err)
			require.True(t, r.Changed)
			require.Equal(t, r.Before, r.Watermark, "no tick was claimed by the wrong clock")
			require.Equal(t, 1, r.Exceptions)
			v, err := s.Inspect(ctx, "job")
			require.NoError(t, err)
			require.Len(t, v.Schedules, 2)
			for _, since := range []time.Time{v.Paused.Since, v.Revised, v.Schedules[1].Since} {
				require.WithinDuration(t, time.Now(), since, time.Minute)
			}
			require.Equal(t, protocol.Decided, claim(first, true).Status)
			second := trigger(protocol.Opened, "t3").Tick
			require.Less(t, second, now()+time.Minute.Milliseconds())
			trigger(protocol.Repeated, "t4")
			require.Equal(t, protocol.Granted, claim(second, true).Status)
			require.Equal(t, protocol.Decided, claim(first, false).Status, "it is decided, paused or not")
			r, err = s.Repair(ctx, protocol.Repair{Name: "job"})
			require.NoError(t, err)
			require.True(t, r.Changed, "the watermark is that of the exception now")
		})
	}
}
