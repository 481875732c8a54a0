package fleet

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// shells triggers a job many times, from ten shells at once, and returns what each trigger did.
func (f *fleet) shells(triggers int, args ...string) (list []outcome) {
	f.t.Helper()
	const shells = 10
	dir := f.t.TempDir()
	var cmds []*exec.Cmd
	for s := range shells {
		text := fmt.Sprintf(`for i in $(seq %d); do "$0" trigger "$@" >"$OUT/%d-$i.out" 2>"$OUT/%d-$i.err"; echo $? >"$OUT/%d-$i.code"; done`, triggers/shells, s, s, s)
		cmd := exec.Command("sh", append([]string{"-c", text, workerPath}, append(args, "--config", f.config)...)...)
		cmd.Env = append(append(os.Environ(), f.environment()...), "OUT="+dir)
		require.NoError(f.t, cmd.Start())
		cmds = append(cmds, cmd)
	}
	for _, cmd := range cmds {
		require.NoError(f.t, cmd.Wait())
	}
	codes, err := filepath.Glob(filepath.Join(dir, "*.code"))
	require.NoError(f.t, err)
	for _, path := range codes {
		read := func(ext string) string {
			text, err := os.ReadFile(strings.TrimSuffix(path, ".code") + ext)
			require.NoError(f.t, err)
			return strings.TrimSpace(string(text))
		}
		o := outcome{stdout: read(".out"), stderr: read(".err")}
		_, err := fmt.Sscan(read(".code"), &o.code)
		require.NoError(f.t, err)
		list = append(list, o)
	}
	require.Len(f.t, list, triggers)
	return list
}

// rare is a job that is not due before the test is over.
func rare(name string, tenths int, more ...string) string {
	return job(name, "@at 2100-01-01T00:00:00Z", tenths, more...)
}

func TestTwoHundredTriggersWithOneKeyRunOnce(t *testing.T) {
	t.Parallel()
	f := orderlyFleet(t, 2*time.Second, rare("keyed", 1, "overlap: allow"))
	f.startAll("r1", "r2", "r3")
	began := time.Now()
	ids := map[string]int{}
	for _, o := range f.shells(200, "keyed", "--key", "deploy-42") {
		require.Zero(t, o.code, o.stderr)
		ids[o.stdout]++
	}
	t.Log("200 triggers took", time.Since(began))
	require.Len(t, ids, 1)
	r := f.waitRun("it runs", 15*time.Second, func(r *run) bool { return r.ended })
	require.Contains(t, ids, fmt.Sprintf("fleet/keyed/%d", r.tick))
	time.Sleep(time.Second)
	f.judge()
	require.Len(t, f.runs("keyed"), 1)
}

func TestTriggersBeyondTheBurstAreRefused(t *testing.T) {
	t.Parallel()
	f := orderlyFleet(t, 2*time.Second, rare("limited", 1, "overlap: allow", "rate: 1/10m", "burst: 3"))
	f.startAll("r1", "r2", "r3")
	refused := regexp.MustCompile(`limited: refused: its rate is 1/10m with a burst of 3; the next trigger is possible at (\S+ \S+ \S+), in 9m\d+`)
	began, accepted := time.Now(), map[string]bool{}
	for _, o := range f.shells(60, "limited") {
		if o.code == 0 {
			require.False(t, accepted[o.stdout], "one run serves two triggers")
			accepted[o.stdout] = true
			continue
		}
		require.Equal(t, 1, o.code)
		require.Empty(t, o.stdout)
		said := refused.FindStringSubmatch(o.stderr)
		require.NotNil(t, said, o.stderr)
		when, err := time.Parse("2006-01-02 15:04:05 -0700", said[1]) // with or without a fraction
		require.NoError(t, err)
		require.WithinRange(t, when, began.Add(10*time.Minute-time.Second), time.Now().Add(10*time.Minute+time.Second))
	}
	require.Len(t, accepted, 3)
	ran := func(runs []*run) bool {
		n := 0
		for _, r := range runs {
			if r.ended {
				n++
			}
		}
		return n == 3
	}
	f.waitFor("three runs", 15*time.Second, ran)
	time.Sleep(time.Second)
	f.judge()
	for _, r := range f.runs("limited") {
		require.True(t, accepted[fmt.Sprintf("fleet/limited/%d", r.tick)])
	}
	require.Len(t, f.runs("limited"), 3)
}

func TestTriggerWithoutAFleetRunsLater(t *testing.T) {
	t.Parallel()
	f := orderlyFleet(t, 2*time.Second, rare("early", 1), job("often", "@every 1s", 0))
	unknown := f.run("trigger", "early") // its record is made by the first worker that serves it
	require.Equal(t, 1, unknown.code)
	require.Contains(t, unknown.stderr, "nothing has run in namespace")
	stopAll(byName(f.startAll("r0")))
	before := len(f.runs("often"))
	time.Sleep(500 * time.Millisecond) // not in the same moment as a tick that ran

	ids := map[string]bool{}
	for _, name := range []string{"early", "often"} {
		o := f.run("trigger", name)
		require.Zero(t, o.code, o.stderr)
		require.Contains(t, o.stderr, "warning: no live replica serves this job: it runs when one starts")
		ids[o.stdout] = true
	}
	time.Sleep(2 * time.Second)
	require.Len(t, f.runs(""), before)
	f.startAll("r1", "r2", "r3")
	came := time.Now()
	ran := func() (n int) {
		for _, r := range f.runs("") {
			if ids[fmt.Sprintf("fleet/%s/%d", r.job, r.tick)] && r.ended {
				require.Less(t, r.at.Sub(came), 3*time.Second+busy)
				n++
			}
		}
		return n
	}
	require.Eventually(t, func() bool { return ran() == 2 }, patience, 20*time.Millisecond)
	time.Sleep(time.Second)
	f.judge()
	require.Len(t, f.runs("early"), 1)
	require.Equal(t, 2, ran())
}

func TestWaitingTriggerExitsByTheOutcome(t *testing.T) {
	t.Parallel()
	f := orderlyFleet(t, 2*time.Second, rare("good", 3), with(`FAILURES: "9"`, rare("bad", 3, "retry: {max_attempts: 2, backoff: 100ms}")))
	f.startAll("r1", "r2", "r3")

	good := f.run("trigger", "good", "--wait")
	require.Zero(t, good.code, good.stderr)
	r := f.runs("good")
	require.Len(t, r, 1)
	require.True(t, r[0].ended)
	require.Regexp(t, fmt.Sprintf(`^fleet/good/%d\nsucceeded on %s after \S+, attempt 1$`, r[0].tick, r[0].replica), good.stdout)

	bad := f.run("trigger", "bad", "--wait")
	require.Equal(t, 1, bad.code)
	r = f.runs("bad")
	require.Len(t, r, 2)
	require.True(t, r[1].failed)
	require.Equal(t, fmt.Sprintf("fleet/bad/%d", r[1].tick), strings.TrimSpace(bad.stdout))
	require.Regexp(t, fmt.Sprintf(`failed on %s after \S+, attempt 2`, r[1].replica), bad.stderr)
	require.Contains(t, bad.stderr, "exit code 1")
	f.judge()
}

// A triggered run is one like any other: it waits behind what runs, is run though the job is
// paused, and is taken over.
func TestTriggeredRunIsQueuedAndSurvivesItsHolder(t *testing.T) {
	t.Parallel()
	const ttl = 3 * time.Second
	f := orderlyFleet(t, ttl, rare("long", 30))
	ws := byName(f.startAll("r1", "r2", "r3"))
	first := f.do("trigger", "long")
	victim := f.begun("long")
	f.do("pause", "long")

	done := make(chan outcome, 1)
	go func() { done <- f.run("trigger", "long", "--wait") }()
	require.Eventually(t, func() bool { return len(f.history("long")) == 2 }, patience, 20*time.Millisecond, "the second one waits")
	killed := time.Now()
	ws[victim.replica].kill()
	again := f.waitRun("it is taken over", 15*time.Second, func(r *run) bool { return r.tick == victim.tick && r.attempt == 2 })
	require.Less(t, again.at.Sub(killed), ttl+time.Second+busy)
	ws[again.replica].signal(syscall.SIGTERM) // which lets the run finish, and leaves the last one to learn of its end
	second := <-done
	require.Zero(t, second.code, second.stderr)

	f.judge()
	f.oneAtATime("long")
	runs := f.runs("long")
	require.Len(t, runs, 3)
	require.True(t, runs[1].ended && runs[2].ended)
	require.Equal(t, fmt.Sprintf("fleet/long/%d", victim.tick), first)
	require.Regexp(t, fmt.Sprintf(`^fleet/long/%d\nsucceeded on %s after `, runs[2].tick, runs[2].replica), second.stdout)
	require.Less(t, runs[2].at.Sub(runs[1].last), time.Second+busy, "it waited longer than for its turn")
}
