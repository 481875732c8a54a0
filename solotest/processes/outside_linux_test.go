package processes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/proctest"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/jobs"
)

// another makes this test binary a test process of its own, for TestOther.
const another = "PROCESSES_TEST_ANOTHER"

// others are what TestOther is when another is set.
var others = map[string]func(t *testing.T){
	"prints its processes and waits": func(t *testing.T) {
		Run(t, 2, func(r *Replica) {
			r.Func("job", "@yearly", func(context.Context, jobs.Run) error { return nil })
		}, func(f *Fleet) {
			f.Pause("r1")
			fmt.Println("pids:", os.Getpid(), f.member("r1").Pid(), f.member("r2").Pid())
			select {}
		})
	},
	"a replica ends": func(t *testing.T) {
		Run(t, 1, func(r *Replica) {
			r.Func("job", "@yearly", func(context.Context, jobs.Run) error { fmt.Println("last words"); os.Exit(7); return nil })
		}, func(f *Fleet) {
			f.Trigger("job")
			<-f.member("r1").Done()
		})
	},
	"a program fails": func(t *testing.T) {
		Run(t, 0, func(r *Replica) {
			r.Run(func(ctx context.Context) error { <-ctx.Done(); return errors.New("no paper") })
		}, func(f *Fleet) {
			f.Start("a")
			f.Stop("a")
		})
	},
	"wrong jobs": func(t *testing.T) {
		Run(t, 1, func(r *Replica) { r.Func("a b", "61 * * * *", nil) }, func(*Fleet) {})
	},
	"no Redis":       func(t *testing.T) { Run(t, 1, nil, nil) },
	"wrong URL":      func(t *testing.T) { Run(t, 1, nil, nil, WithRedis("http://localhost")) },
	"TLS":            func(t *testing.T) { Run(t, 1, nil, nil, WithRedis("rediss://:secret@localhost:1")) },
	"nobody there":   func(t *testing.T) { Run(t, 1, nil, nil, WithRedis("redis://127.0.0.1:1")) },
	"a clock":        func(t *testing.T) { Run(t, 1, nil, nil, WithClock(), WithRedis("redis://127.0.0.1:1")) },
	"nil option":     func(t *testing.T) { Run(t, 1, nil, nil, nil) },
	"a wrong number": func(t *testing.T) { Run(t, 101, nil, nil) },
}

func TestOther(t *testing.T) {
	if test, ok := others[os.Getenv(another)]; ok {
		test(t)
	}
}

// other returns a test process that runs one of others.
func other(t *testing.T, name string) *exec.Cmd {
	t.Helper()
	require.Contains(t, others, name)
	c := exec.Command(os.Args[0], "-test.run=^TestOther$", "-test.timeout=1m")
	c.Env = append(os.Environ(), another+"="+name, "TMPDIR="+t.TempDir())
	return c
}

func TestReplicasEndWithTheTestProcess(t *testing.T) {
	t.Parallel()
	c := other(t, "prints its processes and waits")
	out := new(output)
	c.Stdout = out
	p, err := proctest.Start(c)
	require.NoError(t, err)
	line := regexp.MustCompile(`pids: (\d+) (\d+) (\d+)\n`)
	require.Eventually(t, func() bool { return line.MatchString(out.String()) }, patience, 5*time.Millisecond)

	p.Kill()

	for _, pid := range line.FindStringSubmatch(out.String())[1:] {
		require.Eventually(t, func() bool { return gone(pid) }, patience, 5*time.Millisecond, "the one that is frozen, too")
	}
}

// gone reports that a process has ended, whether or not its parent has noticed.
func gone(pid string) bool {
	state, err := os.ReadFile("/proc/" + pid + "/stat")
	return errors.Is(err, os.ErrNotExist) || strings.Contains(string(state), ") Z ")
}

func TestFaultsOfATestAreSaid(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"a replica ends":  {"r1 ended by itself: exit status 7", "last words"},
		"a program fails": {"a stopped with exit status 1", "no paper"},
		"wrong jobs":      {"r1 ended before it was ready", `"a b"`, `"61 * * * *"`, "handler"},
		"no Redis":        {"there is no redis-server on the PATH", "processes.WithRedis(url)"},
		"wrong URL":       {"invalid URL scheme: http"},
		"TLS":             {`"rediss://:xxxxx@localhost:1" must be redis://HOST:PORT, without TLS`},
		"nobody there":    {"redis at 127.0.0.1:1: ", "connection refused"},
		"a clock":         {"WithClock must be left out with WithRedis"},
		"nil option":      {"options[0]: nil must be an option"},
		"a wrong number":  {"replicas: 101 must be from 0 to 100"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := other(t, name)
			if name == "no Redis" {
				c.Env = append(c.Env, "PATH=")
			}
			var out bytes.Buffer
			c.Stdout, c.Stderr = &out, &out
			p, err := proctest.Start(c)
			require.NoError(t, err)
			t.Cleanup(func() { p.Kill() })
			<-p.Done()
			require.Error(t, p.Err())
			for _, text := range want {
				require.Contains(t, out.String(), text)
			}
		})
	}
}

func TestSubtestsAreStartedByTheirNames(t *testing.T) {
	t.Run("one (of two) $", func(t *testing.T) {
		Run(t, 1, func(r *Replica) {
			r.Func("invoices", "@yearly", invoices(r.WriteOnce))
		}, func(f *Fleet) {
			f.Trigger("invoices")
			once(f)
		}, WithRedis(shared(t)))
	})
}

// shared returns a Redis that is started in the test process only.
func shared(t *testing.T) string {
	if start, ok := started(); ok {
		return start.URL
	}
	return redistest.Start(t).URL()
}
