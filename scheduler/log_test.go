package scheduler_test

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/scheduler"
)

// logged returns what an observer that logs writes about e, less the time of each line.
func logged(e scheduler.Event) string {
	var out bytes.Buffer
	scheduler.LogEvents(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	})))(e)
	return out.String()
}

var (
	loggedTick = time.Date(2026, 11, 2, 1, 0, 0, 0, time.UTC)
	loggedRun  = jobs.Run{Namespace: "billing", Job: "report", Replica: "r1", Tick: loggedTick, Token: 7, Attempt: 2}
	errLogged  = errors.New("no paper")
)

// loggedEvents holds each event with every field that it can have in that case, and its line.
var loggedEvents = []struct {
	name  string
	event scheduler.Event
	line  string
}{
	{
		"claimed",
		scheduler.Claimed{Job: "report", Tick: loggedTick, Status: protocol.Held, Took: 1_234_567},
		`level=DEBUG msg="claim answered" job=report tick=2026-11-02T01:00:00.000Z status=held took=1.23ms`,
	},
	{
		"run started",
		scheduler.RunStarted{Run: loggedRun, Lag: 12_345_678},
		`level=INFO msg="run started" job=report tick=2026-11-02T01:00:00.000Z replica=r1 token=7 attempt=2 lag=12.35ms`,
	},
	{
		"run of a stored schedule started",
		scheduler.RunStarted{Run: jobs.Run{Job: "report", Key: "acme", Replica: "r1", Tick: loggedTick, Token: 7, Attempt: 2}},
		`level=INFO msg="run started" job=report tick=2026-11-02T01:00:00.000Z replica=r1 token=7 attempt=2 key=acme lag=0s`,
	},
	{
		"run started early by the local estimate",
		scheduler.RunStarted{Run: loggedRun, Lag: -1_234_567_890},
		`level=INFO msg="run started" job=report tick=2026-11-02T01:00:00.000Z replica=r1 token=7 attempt=2 lag=-1.235s`,
	},
	{
		"run retried",
		scheduler.RunRetried{Run: loggedRun, Err: errLogged, Wait: time.Second},
		`level=WARN msg="run failed, trying again" job=report tick=2026-11-02T01:00:00.000Z replica=r1 token=7 attempt=2 ` +
			`error="no paper" wait=1s`,
	},
	{
		"run succeeded",
		scheduler.RunSettled{Run: loggedRun, Outcome: wire.Succeeded, Took: 3 * time.Second, Held: 4 * time.Second},
		`level=INFO msg="tick settled" job=report tick=2026-11-02T01:00:00.000Z replica=r1 token=7 attempt=2 ` +
			`outcome=succeeded took=3s`,
	},
	{
		"run failed",
		scheduler.RunSettled{Run: loggedRun, Outcome: wire.Failed, Err: errLogged, Took: time.Second, Held: time.Minute},
		`level=ERROR msg="tick settled" job=report tick=2026-11-02T01:00:00.000Z replica=r1 token=7 attempt=2 ` +
			`outcome=failed took=1s error="no paper"`,
	},
	{
		"run made room",
		scheduler.RunSettled{Run: loggedRun, Outcome: wire.Replaced, Err: errLogged, Took: time.Second, Held: time.Minute},
		`level=WARN msg="tick settled" job=report tick=2026-11-02T01:00:00.000Z replica=r1 token=7 attempt=2 ` +
			`outcome=replaced took=1s error="no paper"`,
	},
	{
		"fleet as it was",
		scheduler.FleetSeen{Replicas: 3, Unserved: []string{"report"}},
		`level=DEBUG msg="fleet members seen" replicas=3 unserved=[report] differ=[]`,
	},
	{
		"fleet changed",
		scheduler.FleetSeen{Replicas: 3, Changed: true},
		`level=INFO msg="fleet members changed" replicas=3 unserved=[] differ=[]`,
	},
	{
		"fleet changed for the worse",
		scheduler.FleetSeen{Replicas: 1, Unserved: []string{"report"}, Differ: []string{"other"}, Changed: true},
		`level=WARN msg="fleet members changed" replicas=1 unserved=[report] differ=[other]`,
	},
	{
		"many jobs that differ",
		scheduler.FleetSeen{Replicas: 1, Differ: strings.Fields(strings.Repeat("job ", 10_000)), Changed: true},
		`level=WARN msg="fleet members changed" replicas=1 unserved=[] differ="[job job job job job job job job job job]" differ_count=10000`,
	},
	{
		"another service in the namespace",
		scheduler.FleetSeen{Replicas: 2, Foreign: []string{"cleanup"}, Changed: true},
		`level=WARN msg="fleet members changed" replicas=2 unserved=[] differ=[] foreign=[cleanup] hint="another program serves jobs of these names, ` +
			`and runs some of their ticks: give each service a namespace of its own"`,
	},
	{
		"a replica's id is shared",
		scheduler.ReplicaShared{Replica: "pod-1", Processes: 2},
		`level=WARN msg="other processes use this replica's id; give each its own, or leave replica out" replica=pod-1 processes=2`,
	},
	{
		"a replica's id is its own again",
		scheduler.ReplicaShared{Replica: "pod-1", Processes: 1},
		`level=INFO msg="no other process uses this replica's id any more" replica=pod-1 processes=1`,
	},
	{
		"run panicked",
		scheduler.RunSettled{
			Run: loggedRun, Outcome: wire.Failed, Took: time.Second,
			Err: jobs.Permanent(&jobs.PanicError{Value: "index out of range", Stack: []byte("goroutine 1")}),
		},
		`level=ERROR msg="tick settled" job=report tick=2026-11-02T01:00:00.000Z replica=r1 token=7 attempt=2 ` +
			`outcome=failed took=1s error="panic: index out of range" stack="goroutine 1"`,
	},
	{
		"run lost while its handler failed",
		scheduler.RunLost{
			Run: loggedRun, Err: errLogged, Took: time.Second, Held: time.Minute,
			Cause: &lease.LostError{Name: "report", Token: 7, Reason: protocol.LostExpired},
		},
		`level=ERROR msg="run lost" job=report tick=2026-11-02T01:00:00.000Z replica=r1 token=7 attempt=2 ` +
			`why="lease: lost \"report\", token 7: expired" took=1s error="no paper"`,
	},
	{
		"run lost though its handler was done",
		scheduler.RunLost{Run: loggedRun, Cause: protocol.ErrFenced, Took: time.Second},
		`level=ERROR msg="run lost" job=report tick=2026-11-02T01:00:00.000Z replica=r1 token=7 attempt=2 ` +
			`why="lease: fenced: the grant is not current any more" took=1s`,
	},
	{
		"run released",
		scheduler.RunReleased{Run: loggedRun, Err: errLogged, Took: time.Second, Held: time.Minute},
		`level=WARN msg="run stopped, tick released" job=report tick=2026-11-02T01:00:00.000Z replica=r1 token=7 attempt=2 ` +
			`error="no paper" took=1s`,
	},
	{
		"ticks skipped",
		scheduler.TicksSkipped{Job: "report", To: loggedTick, Count: 1, Outcome: wire.Skipped, Reason: wire.ReasonPaused},
		`level=INFO msg="ticks settled without a run" job=report to=2026-11-02T01:00:00.000Z count=1 outcome=skipped reason=paused`,
	},
	{
		"ticks missed",
		scheduler.TicksSkipped{Job: "report", To: loggedTick, Count: 9, Outcome: wire.Missed, Reason: wire.ReasonTooOld},
		`level=WARN msg="ticks settled without a run" job=report to=2026-11-02T01:00:00.000Z count=9 outcome=missed reason=too_old`,
	},
	{
		"leases renewed",
		scheduler.Renewed{Renewal: lease.Renewal{Kept: 3, Took: 2 * time.Millisecond}},
		`level=DEBUG msg="leases renewed" count=3 took=2ms`,
	},
	{
		"leases not renewed",
		scheduler.Renewed{Renewal: lease.Renewal{Kept: 1, Failed: 2, Took: time.Second, Err: errLogged}},
		`level=WARN msg="leases not renewed, trying again" count=2 error="no paper"`,
	},
	{
		"store down",
		scheduler.StoreChanged{Err: errLogged, Hint: "buy some"},
		`level=ERROR msg="store does not answer; nothing starts until it does" error="no paper" hint="buy some"`,
	},
	{
		"store fails writes",
		scheduler.StoreChanged{WritesOnly: true, Err: errLogged},
		`level=ERROR msg="store fails writes; nothing starts until it takes them" error="no paper"`,
	},
	{
		"store takes writes",
		scheduler.StoreChanged{Up: true, WritesOnly: true, Away: 90 * time.Second},
		`level=INFO msg="store takes writes" away=1m30s`,
	},
	{
		"store still down",
		scheduler.StoreChanged{Away: 3 * time.Minute, Err: errLogged, Hint: "buy some"},
		`level=ERROR msg="store does not answer; nothing starts until it does" error="no paper" away=3m0s hint="buy some"`,
	},
	{
		"store up",
		scheduler.StoreChanged{Up: true, Away: 90 * time.Second},
		`level=INFO msg="store answers" away=1m30s`,
	},
	{
		"record unreadable",
		scheduler.RecordUnreadable{Err: errLogged},
		`level=ERROR msg="a record cannot be read, so its job does not run; the others do" error="no paper"`,
	},
	{
		"store forgot",
		scheduler.RecordsLost{Since: loggedTick},
		`level=ERROR msg="store has lost its records; making them again" since=2026-11-02T01:00:00.000Z`,
	},
	{
		"record behind",
		scheduler.RecordsLost{Job: "job"},
		`level=WARN msg="the store has lost what it knew of a job; replicas write it back" job=job`,
	},
	{
		"events dropped",
		scheduler.EventsDropped{Count: 3},
		`level=WARN msg="events dropped, the observer was too slow" count=3`,
	},
	{
		"an observer panicked",
		scheduler.EventsDropped{Count: 1, Panic: "no paper"},
		`level=ERROR msg="an observer panicked, its event is lost" count=1 panic="no paper"`,
	},
	{
		"store overloaded",
		scheduler.StoreLoadChanged{Overloaded: true, InFlight: 12, Waiting: 340, Waited: 1_234_567_890},
		`level=WARN msg="store is slower than claims come; ticks start late" waiting=340 waited=1.235s in_flight=12`,
	},
	{
		"store keeps up",
		scheduler.StoreLoadChanged{Lasted: 90 * time.Second},
		`level=INFO msg="store keeps up again" overloaded=1m30s`,
	},
	{
		"no room",
		scheduler.CapacityChanged{Capacity: scheduler.Capacity{MaxRuns: 8, Used: 7, Waiting: 2}, Full: true},
		`level=WARN msg="replica has no room; ticks wait unless another replica has" used=7 max_runs=8 waiting=2`,
	},
	{
		"room again",
		scheduler.CapacityChanged{Capacity: scheduler.Capacity{MaxRuns: 8, Used: 3}, Lasted: 90 * time.Second},
		`level=INFO msg="replica has room again" used=3 max_runs=8 full=1m30s`,
	},
	{
		"clock stepped",
		scheduler.ClockChanged{By: -8 * time.Hour},
		`level=ERROR msg="store's clock has stepped; nothing is claimed until it is back, or has been steady for a while" ` +
			`by=-8h0m0s check="the time on the store's machine, and on this one"`,
	},
	{
		"clock disagrees at the start",
		scheduler.ClockChanged{By: time.Hour, Start: true},
		`level=ERROR msg="store's clock disagrees with this machine's, and no live replica vouches for it; nothing is claimed until it has been steady for a while" ` +
			`by=1h0m0s check="the time on the store's machine, and on this one"`,
	},
	{
		"clock trusted",
		scheduler.ClockChanged{Trusted: true, By: time.Hour, Held: 15 * time.Second},
		`level=WARN msg="store's clock is trusted" by=1h0m0s held=15s`,
	},
	{
		"clock sampled",
		scheduler.ClockSampled{Offset: -250 * time.Microsecond, RTT: 1_500_000},
		`level=DEBUG msg="clock sampled" offset=-250µs rtt=1.5ms`,
	},
}

func TestLogSaysWhatOperatorsNeedOfEachEvent(t *testing.T) {
	for _, test := range loggedEvents {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.line+"\n", logged(test.event))
		})
	}
}

func TestNoEventIsForgottenByTheLog(t *testing.T) {
	tested := map[string]bool{}
	for _, test := range loggedEvents {
		tested[reflect.TypeOf(test.event).Name()] = true
	}
	declared := declaredEvents(t)
	require.NotEmpty(t, declared)
	for _, name := range declared {
		require.True(t, tested[name], "%s needs a case in LogEvents, and in this test", name)
	}
}

// declaredEvents returns the types of the package that have the method of an Event.
func declaredEvents(t *testing.T) (names []string) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || f.Name.Name != "event" {
				continue
			}
			receiver, ok := f.Recv.List[0].Type.(*ast.Ident)
			require.True(t, ok, "%s: an event is a value, not a pointer", file)
			names = append(names, receiver.Name)
		}
	}
	return names
}

func TestEventWithoutFactsIsLogged(t *testing.T) {
	for _, test := range loggedEvents {
		zero := reflect.Zero(reflect.TypeOf(test.event)).Interface().(scheduler.Event)
		line := logged(zero)
		require.Regexp(t, `^level=\w+ msg="?\w.*\n$`, line, "%T", zero)
		require.NotContains(t, line, "PANIC", "%T", zero) // slog's word for a value that panicked when it was formatted
		require.Equal(t, 1, strings.Count(line, "\n"), "%T", zero)
	}
}

// An observer meets events that are newer than it.
func TestLogIgnoresWhatItDoesNotKnow(t *testing.T) {
	type newer struct{ scheduler.Event }
	require.Empty(t, logged(newer{}))
	require.Empty(t, logged(nil))
}

func TestQuietLogsFailuresLossesAndSkips(t *testing.T) {
	var out bytes.Buffer
	observe := scheduler.LogTroubles(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
	said := func(e scheduler.Event) bool {
		out.Reset()
		observe(e)
		return out.Len() > 0
	}
	require.False(t, said(scheduler.StoreChanged{Up: true}), "for the first time")
	require.True(t, said(scheduler.StoreChanged{Err: errLogged}))
	require.True(t, said(scheduler.StoreChanged{Up: true}), "again")
	require.False(t, said(scheduler.RunStarted{Run: loggedRun}))
	require.False(t, said(scheduler.RunSettled{Run: loggedRun, Outcome: wire.Succeeded}))
	require.True(t, said(scheduler.RunSettled{Run: loggedRun, Outcome: wire.Failed, Err: errLogged}))
	require.True(t, said(scheduler.RunLost{Run: loggedRun, Cause: protocol.ErrFenced}))
	require.True(t, said(scheduler.TicksSkipped{Job: "report", Outcome: wire.Skipped, Reason: wire.ReasonOverlap}))
	require.True(t, said(scheduler.TicksSkipped{Job: "report", Outcome: wire.Missed, Reason: wire.ReasonMisfire}))
	require.False(t, said(scheduler.FleetSeen{Replicas: 3, Changed: true}))
	require.True(t, said(scheduler.FleetSeen{Replicas: 3, Changed: true, Unserved: []string{"report"}}))
	require.False(t, said(scheduler.Claimed{Job: "report"}))
}
