package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/heartbeat"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
)

func TestStatusPrintsJobsAndReplicas(t *testing.T) {
	s := newSite(t)
	s.contended("sync-orders", "nightly-report")
	s.announce(heartbeat.Replica{ID: "r1", Groups: []string{"eu"}, ClockOffset: -2 * time.Second, TTL: 15 * time.Second, Running: 1, Version: "v1.2.3",
		Jobs: map[string]string{"sync-orders": "aaaaaaaaaaaa"}})
	s.announce(heartbeat.Replica{ID: "r2", Jobs: map[string]string{"sync-orders": "bbbbbbbbbbbb", "other": "c"}})
	s.settle(s.claim("sync-orders", s.begin+1000), "succeeded", wire.Note{})
	s.claim("sync-orders", s.begin+2000)
	_, err := s.store.Pause(t.Context(), "nightly-report", protocol.Pause{By: "ops1", Reason: "the database moves"})
	require.NoError(t, err)

	r := s.ask("status")
	require.Equal(t, 0, r.Code, r.Stderr)
	lines := strings.Split(strings.TrimSpace(r.Stdout), "\n")
	require.Len(t, lines, 10)
	require.Regexp(t, `^namespace billing, fleet time .* \+0000, 2 replicas$`, lines[0])
	require.Regexp(t, `^JOB +SCHEDULE +NEXT +LAST +OUTCOME +REPLICA +SUCCESS +NOW +NOTE$`, lines[2])
	require.Regexp(t, `^nightly-report  0 2 31 12 \* Asia/Tokyo  \d{4}-\d\d-\d\d 02:00:00 \+0900  -  .*paused by ops1 since .* \+0900, the database moves; no replica serves it$`, lines[3])
	require.Regexp(t, `^sync-orders +@every 1h .* succeeded  r1 .* on r1  replicas define it differently: aaaaaaaaaaaa on r1, bbbbbbbbbbbb on r2$`, lines[4])
	require.Regexp(t, `^other .* not in this configuration$`, lines[5])
	require.Regexp(t, `^REPLICA +GROUPS +JOBS +RUNNING +LOAD +TTL +CLOCK +VERSION +STARTED +HEARTBEAT$`, lines[7])
	require.Regexp(t, `^r1 +eu +1 +1 +0 +15s +2s fast +v1.2.3 +- +\d{4}-.* \+0000$`, lines[8])

	var j struct {
		Namespace string
		Now       time.Time
		Replicas  []struct {
			ID          string
			ClockOffset int64 `json:"clock_offset_ms"`
			Groups      []string
		}
		Jobs []struct {
			Job                          string
			Configured, Unserved, Leader bool
			Next                         *time.Time
			Last                         *struct{ Outcome, Replica string }
			Open                         []struct{ State, Replica string }
			Paused                       *struct{ By, Why string }
			Replicas                     []string
			Revisions                    map[string][]string
		}
	}
	s.json(&j, "status")
	require.Equal(t, "billing", j.Namespace)
	require.WithinDuration(t, time.Now(), j.Now, time.Minute)
	require.Len(t, j.Replicas, 2)
	require.EqualValues(t, -2000, j.Replicas[0].ClockOffset)
	require.Equal(t, []string{"eu"}, j.Replicas[0].Groups)
	require.NotNil(t, j.Replicas[1].Groups)
	require.Len(t, j.Jobs, 3)
	require.Equal(t, "the database moves", j.Jobs[0].Paused.Why)
	require.True(t, j.Jobs[0].Unserved)
	require.Nil(t, j.Jobs[0].Last)
	require.Equal(t, "succeeded", j.Jobs[1].Last.Outcome)
	require.Equal(t, "running", j.Jobs[1].Open[0].State)
	require.Equal(t, "r1", j.Jobs[1].Open[0].Replica)
	require.Equal(t, []string{"r1", "r2"}, j.Jobs[1].Replicas)
	require.Len(t, j.Jobs[1].Revisions, 2)
	require.Zero(t, j.Jobs[1].Next.UnixMilli()%time.Hour.Milliseconds())
	require.False(t, j.Jobs[2].Configured)
	require.Nil(t, j.Jobs[2].Next)
}
