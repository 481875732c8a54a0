package fleet

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/redistest"
)

// TestDeployOverATickLosesNoSharedTick stops all workers 1.2 s before a tick, and starts them with
// an edited file 3.5 s after it.
func TestDeployOverATickLosesNoSharedTick(t *testing.T) {
	t.Parallel()
	edits := []struct {
		name, before, after string
		ran                 bool // the tick that the fleet was stopped over
	}{
		{"same", "*/10 * * * * *", "*/10 * * * * *", true},
		{"respelled", "*/10 * * * * *", "0/10 * * * * *", true},
		{"narrower", "*/5 * * * * *", "*/10 * * * * *", true},
		{"wider", "*/10 * * * * *", "*/5 * * * * *", true},
		{"zoned", "*/10 * * * * *", "*/10 * * * * *", true},
		{"only-new", "5/10 * * * * *", "*/10 * * * * *", false},
	}
	var before []string
	for _, e := range edits {
		before = append(before, job(e.name, e.before, 1))
	}
	f := newFleet(t, redistest.Start(t), 2*time.Second, before...)
	edited := f.configText()
	for i, e := range edits {
		if e.name == "zoned" {
			edited = strings.Replace(edited, before[i], job(e.name, e.after, 1, "timezone: Europe/Berlin"), 1)
			continue
		}
		edited = strings.Replace(edited, before[i], job(e.name, e.after, 1), 1)
	}
	ws := map[string]*worker{}
	for _, w := range f.startAll("r1", "r2") {
		ws[w.name] = w
	}
	tick := time.Now().Truncate(10 * time.Second).Add(10 * time.Second)
	if time.Until(tick) < 3*time.Second { // the first output needs a moment
		tick = tick.Add(10 * time.Second)
	}
	time.Sleep(time.Until(tick.Add(-1200 * time.Millisecond)))
	stopAll(ws)
	f.writeConfig(edited)
	time.Sleep(time.Until(tick.Add(3500 * time.Millisecond)))
	f.startAll("r1", "r2")
	next := tick.Add(10 * time.Second)
	f.waitFor("the next tick of each", 20*time.Second, func([]*run) bool {
		for _, e := range edits {
			if f.outcomeOf(e.name, next.UnixMilli()).Outcome == "" {
				return false
			}
		}
		return true
	})
	for _, e := range edits {
		got := f.outcomeOf(e.name, tick.UnixMilli())
		want := past{Outcome: "missed", Reason: "edited"}
		if e.ran {
			want = past{Outcome: "succeeded"}
		}
		require.Equal(t, want, past{Outcome: got.Outcome, Reason: got.Reason}, e.name)
		require.Equal(t, "succeeded", f.outcomeOf(e.name, next.UnixMilli()).Outcome, e.name)
	}
}

// TestSharedTicksOutliveADeadFleet kills all workers, of which one has another file, for 7 s.
func TestSharedTicksOutliveADeadFleet(t *testing.T) {
	t.Parallel()
	f := newFleet(t, redistest.Start(t), 2*time.Second, job("common", "*/2 * * * * *", 0, "misfire: all", "overlap: allow"))
	narrow := f.configText()
	wide := strings.Replace(narrow, "*/2 * * * * *", "* * * * * *", 1)
	start := func() []*worker {
		var ws []*worker
		for i, config := range []string{narrow, wide, wide} {
			f.writeConfig(config)
			ws = append(ws, f.startAll(fmt.Sprintf("r%d", i+1))...)
		}
		return ws
	}
	ws := start()
	first := time.Now().Truncate(2 * time.Second).Add(2 * time.Second)
	time.Sleep(time.Until(first.Add(2500 * time.Millisecond)))
	for _, w := range ws {
		w.kill()
	}
	time.Sleep(7 * time.Second)
	start()
	last := time.Now().Truncate(2 * time.Second).Add(2 * time.Second)
	f.waitFor("a tick after the return", 20*time.Second, func([]*run) bool { return f.outcomeOf("common", last.UnixMilli()).Outcome != "" })
	for tick := first; !tick.After(last); tick = tick.Add(2 * time.Second) {
		require.Equal(t, "succeeded", f.outcomeOf("common", tick.UnixMilli()).Outcome, "%s: %+v", tick, f.history("common"))
	}
}
