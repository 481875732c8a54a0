package fleet

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/redistest"
)

// The tests that say t.Parallel wait for most of their time, each for a fleet of its own: more of
// them fit beside each other than there are processors. The command line has the last word.
func init() {
	testing.Init()
	if err := flag.Set("test.parallel", "5"); err != nil {
		panic(err)
	}
}

// orderly is the script of jobs that handle SIGTERM: they write that it came, and what they do
// then, for LINGER tenths of a second, to end in good order. A DEAF one only writes that it came,
// and goes on. What SIGTERM hits while it reads the clock is not written.
const orderly = `
say() { at=$(date +%s%N); [ -z "$at" ] || echo "$1 $SOLOTICK_JOB $SOLOTICK_TICK_UNIX_MS $SOLOTICK_FENCING_TOKEN $SOLOTICK_ATTEMPT $SOLOTICK_REPLICA $at" >>"$JOURNAL"; }
told() {
  say told
  [ -z "$DEAF" ] || return 0
  left=${LINGER:-0}
  while [ "$left" -gt 0 ]; do sleep 0.1; say linger; left=$((left-1)); done
  say left
  exit 143
}
say start
trap told TERM
n=$TENTHS
while [ "$n" -gt 0 ]; do sleep 0.1; n=$((n-1)); if [ "$n" -gt 0 ]; then say beat; fi; done
trap '' TERM
if [ "$SOLOTICK_ATTEMPT" -le "${FAILURES:-0}" ]; then say fail; exit 1; fi
say end
`

// orderlyFleet is a fleet whose jobs run that script.
func orderlyFleet(t *testing.T, ttl time.Duration, jobs ...string) *fleet {
	t.Helper()
	f := newFleet(t, redistest.Start(t), ttl, jobs...)
	require.NoError(t, os.WriteFile(filepath.Join(f.dir, "job.sh"), []byte(orderly), 0o600))
	return f
}

// with adds variables to the environment of a job, such as `LINGER: "3"`.
func with(env, job string) string { return strings.Replace(job, "env: {", "env: {"+env+", ", 1) }

// killGrace gives a job another kill grace than 1s.
func killGrace(d, job string) string {
	return strings.Replace(job, "kill_grace: 1s", "kill_grace: "+d, 1)
}

// said returns when a run wrote a word for the first time; the zero time if it did not.
func (f *fleet) said(word string, r *run) time.Time {
	for _, e := range f.entries() {
		if e.what == word && e.job == r.job && e.tick == r.tick && e.token == r.token && e.attempt == r.attempt {
			return e.at
		}
	}
	return time.Time{}
}

// fresh waits for a run of a job that has begun just now, and returns it as it is then.
func (f *fleet) fresh(job string) *run {
	f.t.Helper()
	return f.waitRun("a run of "+job+" begins", 30*time.Second, func(r *run) bool {
		return r.job == job && r.entries >= 2 && time.Since(r.at) < time.Second
	})
}

// begun waits for a run of a job that has begun and not ended.
func (f *fleet) begun(job string) *run {
	f.t.Helper()
	return f.waitRun("a run of "+job+" begins", 30*time.Second, func(r *run) bool { return r.job == job && r.entries >= 2 && !r.ended })
}

// writesOn waits until a run writes once more.
func (f *fleet) writesOn(r *run) {
	f.t.Helper()
	from := time.Now()
	f.waitRun("it runs on", 10*time.Second, func(now *run) bool {
		return now.job == r.job && now.tick == r.tick && now.token == r.token && now.attempt == r.attempt && now.last.After(from)
	})
}

// oneAtATime requires that no run of a job wrote anything after the next one had started.
func (f *fleet) oneAtATime(job string) {
	f.t.Helper()
	runs := f.runs(job)
	require.NotEmpty(f.t, runs, job)
	for i, after := range runs[1:] {
		before := runs[i]
		require.False(f.t, before.last.After(after.at), "%s: the run of %d (attempt %d, on %s) wrote for another %s after that of %d (attempt %d, on %s) had started",
			job, before.tick, before.attempt, before.replica, before.last.Sub(after.at), after.tick, after.attempt, after.replica)
	}
}

// outcome is the result of a command of the worker.
type outcome struct {
	code           int
	stdout, stderr string
}

// run runs a command of the worker.
func (f *fleet) run(args ...string) outcome {
	f.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(workerPath, append(args, "--config", f.config)...)
	cmd.Env = append(os.Environ(), f.environment()...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
		require.NoError(f.t, err)
	}
	return outcome{cmd.ProcessState.ExitCode(), strings.TrimSpace(stdout.String()), strings.TrimSpace(stderr.String())}
}

func (f *fleet) environment() []string {
	return []string{"JOURNAL=" + f.journal, "SCRIPT=" + filepath.Join(f.dir, "job.sh")}
}

// do runs a command of the worker that has to succeed, and returns what it printed.
func (f *fleet) do(args ...string) string {
	f.t.Helper()
	o := f.run(args...)
	require.Zero(f.t, o.code, "worker %s: %s", strings.Join(args, " "), o.stderr)
	return o.stdout
}

// past is a tick, or some, in the history.
type past struct {
	ID        string
	Scheduled time.Time
	From      *time.Time
	State     string
	Outcome   string
	Reason    string
	Attempt   int
	Took      int64 `json:"took_ms"`
}

// has reports whether the entry is about a tick.
func (p past) has(tick time.Time) bool {
	return p.Scheduled.Equal(tick) || p.From != nil && tick.After(*p.From) && tick.Before(p.Scheduled)
}

// history returns what worker history says.
func (f *fleet) history(job string) (list []past) {
	f.t.Helper()
	require.NoError(f.t, json.Unmarshal([]byte(f.do("history", job, "-n", "128", "--output", "json")), &list))
	return list
}

// outcomeOf returns what became of a tick; the zero value if the history does not say.
func (f *fleet) outcomeOf(job string, tick int64) past {
	f.t.Helper()
	for _, p := range f.history(job) {
		if p.has(time.UnixMilli(tick)) {
			return p
		}
	}
	return past{}
}

// why returns what worker why says of a tick.
func (f *fleet) why(job string, tick time.Time) string {
	f.t.Helper()
	return f.do("why", job, strconv.FormatInt(tick.UnixMilli(), 10))
}

// freeze stops a worker for a while.
func (w *worker) freeze(d time.Duration) {
	w.f.t.Helper()
	w.signal(syscall.SIGSTOP)
	time.Sleep(d)
	w.signal(syscall.SIGCONT)
}

// stopAll stops workers with SIGTERM, at once.
func stopAll(ws map[string]*worker) {
	for _, w := range ws {
		w.signal(syscall.SIGTERM)
	}
	for _, w := range ws {
		<-w.Done()
		require.NoError(w.f.t, w.Err(), "exit of %s:\n%s", w.name, w.log)
	}
}

// restart starts a worker again that has ended.
func restart(ws map[string]*worker, w *worker) {
	ws[w.name] = w.f.start(w.name)
	ws[w.name].waitReady()
}
