package fleet

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/redistest"
)

// configured gives a worker that is about to start a configuration of its own, and returns its
// path.
func (f *fleet) configured(name, text string) string {
	f.config = filepath.Join(f.dir, name+".yaml")
	f.writeConfig(text)
	return f.config
}

// reload replaces the worker's configuration and waits until it is in force.
func (w *worker) reload(path, text string) {
	w.f.t.Helper()
	count := func() int { return strings.Count(w.log.String(), `msg="configuration reloaded"`) }
	before := count()
	require.NoError(w.f.t, os.WriteFile(path+".new", []byte(text), 0o600))
	require.NoError(w.f.t, os.Rename(path+".new", path))
	require.Eventually(w.f.t, func() bool { return count() > before }, patience, 10*time.Millisecond, "%s: %s", w.name, w.log)
}

// lastLook returns what the worker said last about the fleet.
func (w *worker) lastLook() (last string) {
	for line := range strings.Lines(w.log.String()) {
		if strings.Contains(line, ` msg="fleet members `) {
			last = line
		}
	}
	return last
}

func TestRollingEditsLoseAndDoubleNoTick(t *testing.T) {
	const kept, edited = 10, 10
	version := func(n int) []string {
		var jobs []string
		for i := range kept {
			jobs = append(jobs, job(fmt.Sprintf("kept-%d", i), "@every 1s", 0, "overlap: allow"))
		}
		for i := range edited {
			jobs = append(jobs, strings.Replace(job(fmt.Sprintf("edited-%d", i), "@every 1s", 0, "overlap: allow"), "env: {", fmt.Sprintf("env: {VERSION: %d, ", n), 1))
		}
		jobs = append(jobs,
			job("long", "@every 3s", 25, "overlap: allow"), // a run is under way all the time
			strings.Replace(job("long-edited", "@every 3s", 25, "overlap: allow"), "env: {", fmt.Sprintf("env: {VERSION: %d, ", n), 1),
			job("slower", fmt.Sprintf("@every %ds", n), 0, "overlap: allow"),
			job(fmt.Sprintf("only-%d", n), "@every 1s", 0, "overlap: allow"))
		return jobs
	}
	server := redistest.Start(t)
	f := newFleet(t, server, 6*time.Second, version(1)...)
	text := func(n int) string {
		head, _, _ := strings.Cut(f.configText(), "jobs:\n")
		return head + "jobs:\n" + strings.Join(version(n), "")
	}
	first := text(1)
	var workers []*worker
	paths := map[string]string{}
	for _, name := range []string{"r1", "r2", "r3"} {
		paths[name] = f.configured(name, first)
		workers = append(workers, f.start(name))
	}
	for _, w := range workers {
		w.waitReady()
	}
	f.waitFor("everything has begun", 20*time.Second, func(runs []*run) bool {
		names := map[string]bool{}
		for _, r := range runs {
			names[r.job] = true
		}
		return len(names) == len(version(1))
	})
	from := time.Now()
	var changed []time.Time // when each version was the only one
	for n := 2; n <= 4; n++ {
		for _, w := range workers {
			w.reload(paths[w.name], text(n))
			w.signal(syscall.SIGHUP) // which finds nothing more to do
		}
		changed = append(changed, time.Now())
	}
	time.Sleep(6 * time.Second) // so that there is a tick every four seconds in it
	to := time.Now().Add(-1500 * time.Millisecond)

	f.judge()
	for i := range kept {
		f.everyTick(fmt.Sprintf("kept-%d", i), time.Second, from, to)
	}
	for i := range edited {
		f.everyTick(fmt.Sprintf("edited-%d", i), time.Second, from, to)
	}
	f.everyTick("long", 3*time.Second, from, to.Add(-2*time.Second))
	f.everyTick("long-edited", 3*time.Second, from, to.Add(-2*time.Second))
	last := changed[len(changed)-1]
	f.everyTick("only-4", time.Second, last, to)
	f.everyTick("slower", 4*time.Second, last, to)
	for _, r := range f.runs("") {
		require.Equal(t, 1, r.attempt, "%s was interrupted", r.job)
		tick := time.UnixMilli(r.tick)
		for n, when := range changed {
			if r.job == fmt.Sprintf("only-%d", n+1) {
				require.False(t, tick.After(when), "%s was removed everywhere at %s, and its tick of %s runs", r.job, when, tick)
			}
		}
		if r.job == "slower" && tick.After(last) {
			require.Zero(t, r.tick%4000, "a tick of an older schedule, at %s", tick)
		}
	}
	for _, w := range workers {
		require.Eventually(t, func() bool { return strings.Contains(w.lastLook(), "replicas=3 unserved=[] differ=[]") },
			patience, 50*time.Millisecond, "%s: %s", w.name, w.lastLook())
		require.NotContains(t, w.log.String(), "level=ERROR")
		require.Equal(t, 3, strings.Count(w.log.String(), `msg="configuration reloaded"`))
	}
}
