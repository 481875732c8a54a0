package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/limits"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lease/redislease"
)

// TestHistoryKeepsItsBudget settles more ticks than a history keeps, with the longest names and
// notes that a replica writes, and measures what the store has of them.
func TestHistoryKeepsItsBudget(t *testing.T) {
	t.Parallel()
	spec := jobs.Defaults()
	spec.Name, spec.Schedule, spec.History = "job", "@every 1s", 20
	spec.HistoryBytes = limits.MinOutcome * limits.Outcomes(spec.History)
	for name, open := range map[string]func(*testing.T) (store protocol.Store, measured func() int){
		"memory": func(t *testing.T) (protocol.Store, func() int) {
			s := new(memlease.Store)
			return s, func() (bytes int) {
				list := s.Memory().Do(t.Context(), []driver.Op{{Key: "job", Newest: 1 << 20}})[0].List
				for _, e := range list {
					bytes += len(e.ID) + len(e.Text) + 17
				}
				return bytes
			}
		},
		"redis": func(t *testing.T) (protocol.Store, func() int) {
			srv := redistest.Start(t)
			client := srv.Client(t)
			s, err := redislease.New(client, "default")
			require.NoError(t, err)
			return s, func() (bytes int) {
				fields, err := client.HGetAll(t.Context(), redislease.Key("default", "job")).Result()
				require.NoError(t, err)
				for field, text := range fields {
					if strings.HasPrefix(field, "o") {
						bytes += len(field) + len(text)
					}
				}
				return bytes
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, measured := open(t)
			fill(t, store, spec)
			bytes := measured()
			require.LessOrEqual(t, bytes, spec.HistoryBytes)
			require.GreaterOrEqual(t, bytes, spec.HistoryBytes/4, "it is used")
			require.LessOrEqual(t, bytes, wire.HistoryLimit(spec))
		})
	}
}

// fill settles more ticks of a job than its history keeps.
func fill(t *testing.T, s protocol.Store, spec jobs.Spec) {
	now, _, err := s.Time(t.Context())
	require.NoError(t, err)
	_, err = s.Sync(t.Context(), []protocol.Sync{{Name: spec.Name, Policy: wire.PolicyOf(spec)}})
	require.NoError(t, err)
	for i := range 3 * spec.History {
		c := protocol.Claim{
			Name: spec.Name, Tick: now.UnixMilli() - 100_000 + int64(i), Holder: strings.Repeat("h", 128), Request: fmt.Sprint("r", i), TTL: time.Minute,
			Overlap: protocol.OverlapAllow,
		}
		a, err := s.Claim(t.Context(), c)
		require.NoError(t, err)
		require.Equal(t, protocol.Granted, a.Status)
		note := wire.Note{Started: now, Ended: now, Error: strings.Repeat("what failed\n", 1000), Retried: []wire.Run{{Attempt: 1, Error: "failed before"}}}
		g := protocol.Grant{
			Name: c.Name, Tick: c.Tick, Holder: c.Holder, Request: c.Request, Token: a.Token, Attempt: a.Attempt, Takeovers: a.Takeovers, TTL: c.TTL,
			Note: note.Within(wire.NoteLimit(spec)),
		}
		require.NoError(t, s.Settle(t.Context(), g, protocol.Outcome(strings.Repeat("o", 64))))
	}
}

func TestRunsKeepWithinTheHistorysBudget(t *testing.T) {
	inFleet(t, func(f *fleet) {
		long := errors.New(strings.Repeat("what failed\n", 1000))
		fails := func(context.Context, jobs.Run) error { return long }
		f.job("bound", "@every 1m", fails, func(s *jobs.Spec) { s.HistoryBytes = 1024 * 144 })
		f.job("free", "@every 1m", fails)
		f.startMany(1)
		f.sleepTo(90 * time.Second)
		_, bound := f.noteOf("bound", at(time.Minute))
		_, free := f.noteOf("free", at(time.Minute))
		require.Greater(t, len(free.Error), 2000)
		require.Less(t, len(bound.Error), 1024)
		require.Greater(t, len(bound.Error), 400)
		require.True(t, strings.HasPrefix(bound.Error, "what failed\n"))
		require.Equal(t, wire.Failed, f.inspect("bound").Settled[0].Outcome)
	})
}
