package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/workertest"
	"github.com/solotick/solotick/internal/heartbeat"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
)

// accepted is the id that trigger prints.
func (s *site) accepted(args ...string) string {
	s.Helper()
	r := s.ask(append([]string{"trigger"}, args...)...)
	require.Equal(s, 0, r.Code, r.Stderr)
	return strings.TrimSpace(r.Stdout)
}

func TestTriggerWithAKeyCountsOnce(t *testing.T) {
	s := newSite(t)
	s.contended("sync-orders")
	s.announce(heartbeat.Replica{ID: "r1", Jobs: map[string]string{"sync-orders": "a"}})
	r := s.ask("trigger", "sync-orders", "--key", "deploy-1", "--by", "ops2")
	require.Equal(t, 0, r.Code)
	require.Empty(t, r.Stderr)
	require.Regexp(t, `^billing/sync-orders/\d{13}\n$`, r.Stdout)
	record, err := s.store.Inspect(t.Context(), "sync-orders")
	require.NoError(t, err)
	require.Len(t, record.Open, 1)
	require.Equal(t, "ops2", record.Open[0].Holder)
	require.Equal(t, fmt.Sprintf("billing/sync-orders/%d\n", record.Open[0].Tick), r.Stdout)

	again := s.ask("trigger", "sync-orders", "--key", "deploy-1")
	require.Equal(t, workertest.Result{Stdout: r.Stdout, Stderr: "an earlier trigger had this key: this is its tick\n"}, again)
	again = s.ask("trigger", "sync-orders")
	require.Equal(t, workertest.Result{Stdout: r.Stdout, Stderr: "a triggered tick already waits to run: it serves this trigger, too\n"}, again)

	var j struct{ Status, ID, Tick string }
	s.json(&j, "trigger", "sync-orders", "--key", "deploy-1")
	require.Equal(t, "repeated", j.Status)
	require.Equal(t, strings.TrimSpace(r.Stdout), j.ID)
	tick, err := time.Parse(time.RFC3339, j.Tick)
	require.NoError(t, err)
	require.Equal(t, record.Open[0].Tick, tick.UnixMilli())
}

func TestTriggerGivesAPayload(t *testing.T) {
	s := newSite(t)
	s.contended("sync-orders")
	s.announce(heartbeat.Replica{ID: "r1", Jobs: map[string]string{"sync-orders": "a"}})
	file := filepath.Join(t.TempDir(), "payload")
	require.NoError(t, os.WriteFile(file, []byte("hunter2\n"), 0o600))
	id := s.accepted("sync-orders", "--key", "k", "--payload", "@"+file)
	require.Equal(t, id, s.accepted("sync-orders", "--key", "k", "--payload", "@"+file))
	r := s.ask("trigger", "sync-orders", "--key", "k", "--payload", "hunter3")
	require.Equal(t, 1, r.Code)
	require.Contains(t, r.Stderr, `key "k": lease: an earlier trigger with this key had another payload`)

	record, err := s.store.Inspect(t.Context(), "sync-orders")
	require.NoError(t, err)
	tick := record.Open[0].Tick
	a, err := s.store.Claim(t.Context(), protocol.Claim{Name: "sync-orders", Tick: tick, Holder: "r1", Request: "x", TTL: time.Hour, OnlyOpen: true})
	require.NoError(t, err)
	require.Equal(t, "hunter2\n", a.Payload)

	shown := ""
	for _, args := range [][]string{{"history", "sync-orders"}, {"history", "sync-orders", "--output", "json"}, {"describe", "sync-orders"}, {"why", "sync-orders"}, {"status"}} {
		r := s.ask(args...)
		require.Zero(t, r.Code, r.Stderr)
		shown += r.Stdout
	}
	require.NotContains(t, shown+r.Stderr, "hunter")
	require.Contains(t, shown, "payload of 8 bytes")
	require.Contains(t, shown, `"payload_bytes": 8`)

	for _, payload := range []string{strings.Repeat("hunter2", 600), "hunter2\xff", "@" + file + "-gone"} {
		r := s.ask("trigger", "sync-orders", "--payload", payload)
		require.Equal(t, 2, r.Code)
		require.Contains(t, r.Stderr, "--payload: ")
		require.NotContains(t, r.Stderr, "hunter2")
	}
}

func TestTriggerWarnsOfSilentReplicas(t *testing.T) {
	s := newSite(t)
	s.contended("sync-orders")
	s.announce(heartbeat.Replica{ID: "r1", Jobs: map[string]string{"sync-orders": "a"}, TTL: time.Millisecond})
	silent := func() string {
		r := s.ask("trigger", "sync-orders")
		require.Equal(t, 0, r.Code, r.Stderr)
		return r.Stderr
	}
	require.Eventually(t, func() bool {
		return strings.Contains(silent(), "warning: no replica that serves this job has sent its heartbeat in time (r1): it runs when one of them is back, or another starts\n")
	}, workertest.Patience, 200*time.Millisecond)
	s.announce(heartbeat.Replica{ID: "r2", Jobs: map[string]string{"sync-orders": "a"}, TTL: time.Hour})
	require.NotContains(t, silent(), "warning", "one that serves it does")
}

func TestTriggerWarnsOfAnUnservedJob(t *testing.T) {
	s := newSite(t)
	r := s.ask("trigger", "sync-orders")
	require.Equal(t, 1, r.Code)
	require.Contains(t, r.Stderr, "no replica has ever served")
	s.contended("sync-orders")
	r = s.ask("trigger", "sync-orders")
	require.Equal(t, 0, r.Code)
	require.Equal(t, "warning: no live replica serves this job: it runs when one starts\n", r.Stderr)
}

func TestTriggerAboveTheRateIsRefused(t *testing.T) {
	s := newSite(t)
	s.defined(protocol.Policy{Every: 10 * time.Minute, Burst: 1}, "nightly-report")
	id := s.accepted("nightly-report")
	tick := int64(0)
	_, err := fmt.Sscanf(id, "billing/nightly-report/%d", &tick)
	require.NoError(t, err)
	s.settle(s.claim("nightly-report", tick), "succeeded", wire.Note{})

	r := s.ask("trigger", "nightly-report")
	require.Equal(t, 1, r.Code)
	require.Empty(t, r.Stdout)
	require.Regexp(t, `^worker: nightly-report: refused: its rate is 1/10m with a burst of 1; the next trigger is possible at `+
		`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{3})? \+0900, in 9m5\d(\.\d+)?s\n$`, r.Stderr)

	r = s.ask("trigger", "nightly-report", "--output", "json")
	require.Equal(t, 1, r.Code)
	var j struct {
		Status, ID string
		Tick       *string
		Wait       int64 `json:"wait_ms"`
		Next       time.Time
		Limit      string
	}
	require.NoError(t, json.Unmarshal([]byte(r.Stdout), &j))
	require.Equal(t, "limited", j.Status)
	require.Equal(t, "rate", j.Limit)
	require.Empty(t, j.ID)
	require.Nil(t, j.Tick)
	require.InDelta(t, 10*time.Minute.Milliseconds(), j.Wait, 60_000)
	require.WithinDuration(t, time.Now().Add(10*time.Minute), j.Next, time.Minute)
}

func TestTheRateOfTheReplicasBindsEveryConfiguration(t *testing.T) {
	s := newSite(t)
	s.defined(protocol.Policy{Every: time.Hour, Burst: 2, Beside: true}, "sync-orders", "elsewhere") // which the file does not say
	for _, job := range []string{"sync-orders", "elsewhere"} {
		s.announce(heartbeat.Replica{ID: "r1", Jobs: map[string]string{job: "a"}})
		first, second := s.accepted(job), s.accepted(job)
		require.NotEqual(t, first, second)
		r := s.ask("trigger", job)
		require.Equal(t, 1, r.Code)
		require.Contains(t, r.Stderr, job+": refused: its rate is 1/1h with a burst of 2; the next trigger is possible at ")
	}
	s.defined(protocol.Policy{NoTriggers: true}, "sync-orders")
	r := s.ask("trigger", "sync-orders")
	require.Equal(t, 1, r.Code)
	require.Contains(t, r.Stderr, "a leader task runs all the time, so it cannot be triggered")
}

func TestTriggerWaitsForTheOutcome(t *testing.T) {
	for outcome, test := range map[protocol.Outcome]struct {
		code   int
		stderr string
	}{
		"succeeded": {0, "^$"},
		"failed":    {1, "^worker: ID: failed on r1 after [\\d.]+s, attempt 1: exit status 3\n$"},
	} {
		t.Run(string(outcome), func(t *testing.T) {
			s := newSite(t)
			s.contended("sync-orders")
			s.announce(heartbeat.Replica{ID: "r1", Jobs: map[string]string{"sync-orders": "a"}})
			ran := make(chan error, 1)
			go func() { // what a replica does
				ran <- func() error {
					for {
						r, err := s.store.Inspect(t.Context(), "sync-orders")
						if err != nil {
							return err
						}
						if len(r.Open) == 0 {
							time.Sleep(5 * time.Millisecond)
							continue
						}
						g, err := claimAs(t.Context(), s.store, "sync-orders", r.Open[0].Tick, "r1")
						if err != nil {
							return err
						}
						n := wire.Note{Started: time.Now().Add(-2 * time.Second)}
						if outcome == "failed" {
							n.Error = "exit status 3"
						}
						g.Note = n.String()
						return s.store.Settle(t.Context(), g, outcome)
					}
				}()
			}()
			r := s.ask("trigger", "sync-orders", "--wait")
			require.NoError(t, <-ran)
			require.Equal(t, test.code, r.Code)
			id, rest, _ := strings.Cut(r.Stdout, "\n")
			require.Regexp(t, `^billing/sync-orders/\d+$`, id)
			if outcome == "succeeded" {
				require.Regexp(t, `^succeeded on r1 after [\d.]+s, attempt 1\n$`, rest)
			} else {
				require.Empty(t, rest, "it is said once")
			}
			require.Regexp(t, strings.Replace(test.stderr, "ID", id, 1), r.Stderr)
		})
	}
}
