package solocron_test

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/robfig/cron/v3"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick"
	"github.com/solotick/solotick/contrib/solocron"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
)

var quiet = solocron.WithOptions(solotick.WithLogger(slog.New(slog.DiscardHandler)))

// count is a Job that counts its runs.
type count struct{ n atomic.Int64 }

func (c *count) Run() { c.n.Add(1) }

func inBubble(t *testing.T, test func(t *testing.T)) { t.Helper(); synctest.Test(t, test) }

func TestThreeReplicasRunEachTickOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store, runs := new(memlease.Store), new(count)
		var all []*solocron.Cron
		for range 3 {
			c := solocron.On(store, quiet)
			_, err := c.AddFunc("minutely", "* * * * *", runs.Run)
			require.NoError(t, err)
			_, err = c.AddJob("job", "@every 1h", runs)
			require.NoError(t, err)
			require.NoError(t, c.Start())
			all = append(all, c)
		}
		time.Sleep(2*time.Hour + time.Second)
		require.EqualValues(t, 122, runs.n.Load())
		for _, c := range all {
			<-c.Stop().Done()
		}
		time.Sleep(time.Hour)
		require.EqualValues(t, 122, runs.n.Load())
	})
}

func TestRedisRunsEachTickOnce(t *testing.T) {
	server := redistest.Start(t)
	var mu sync.Mutex
	runs := map[time.Time]int{}
	var all []*solocron.Cron
	for range 2 {
		client := redis.NewClient(&redis.Options{Addr: server.Addr()})
		t.Cleanup(func() { require.NoError(t, client.Close()) })
		c := solocron.New(client, "billing", quiet, solocron.WithSeconds())
		_, err := c.AddHandler("often", "* * * * * *", func(_ context.Context, run jobs.Run) error {
			mu.Lock()
			defer mu.Unlock()
			runs[run.Tick]++
			return nil
		})
		require.NoError(t, err)
		require.NoError(t, c.Start())
		all = append(all, c)
	}
	number := func() int { mu.Lock(); defer mu.Unlock(); return len(runs) }
	require.Eventually(t, func() bool { return number() >= 3 }, 30*time.Second, 10*time.Millisecond)
	for _, c := range all {
		<-c.Stop().Done()
	}
	for tick, n := range runs {
		require.Equal(t, 1, n, "runs of %s", tick)
	}
}

// The cases that follow are those of robfig/cron's own tests that mean something for a fleet.

func TestAddedWhileRunningIsRun(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c, runs := solocron.On(new(memlease.Store), quiet), new(count)
		require.NoError(t, c.Start())
		time.Sleep(time.Second / 2)
		_, err := c.AddFunc("late", "@every 1s", runs.Run)
		require.NoError(t, err)
		time.Sleep(3 * time.Second)
		require.GreaterOrEqual(t, runs.n.Load(), int64(2))
		<-c.Stop().Done()
	})
}

func TestRemovedIsNotRun(t *testing.T) {
	for _, when := range []string{"before the start", "while it runs"} {
		t.Run(when, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				c, runs, other := solocron.On(new(memlease.Store), quiet), new(count), new(count)
				id, err := c.AddFunc("gone", "@every 1m", runs.Run)
				require.NoError(t, err)
				_, err = c.AddFunc("stays", "@every 1m", other.Run)
				require.NoError(t, err)
				if when == "before the start" {
					c.Remove(id)
				}
				require.NoError(t, c.Start())
				c.Remove(id)
				require.False(t, c.Entry(id).Valid())
				c.Remove(id)
				time.Sleep(5*time.Minute + time.Second)
				require.Zero(t, runs.n.Load())
				require.EqualValues(t, 5, other.n.Load())
				<-c.Stop().Done()
			})
		})
	}
}

func TestEntriesAreSortedByNextTick(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c, job := solocron.On(new(memlease.Store), quiet), new(count)
		var ids []solocron.EntryID
		for name, spec := range map[string]string{"b": "0 5 * * *", "a": "@every 1m", "never": "@at 1999-01-01T00:00:00Z", "c": "@yearly"} {
			id, err := c.AddJob(name, spec, job)
			require.NoError(t, err)
			ids = append(ids, id)
		}
		entries := c.Entries()
		require.Len(t, entries, 4)
		require.Equal(t, time.Now().Add(time.Minute).UTC(), entries[0].Next.UTC())
		require.Equal(t, 5, entries[1].Next.Hour())
		require.Zero(t, entries[3].Next)
		for _, id := range ids {
			require.True(t, c.Entry(id).Valid())
			require.Same(t, job, c.Entry(id).Job)
		}
		<-c.Stop().Done()
	})
}

func TestTimeZonesAreThoseOfRobfig(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		tokyo, err := time.LoadLocation("Asia/Tokyo")
		require.NoError(t, err)
		c := solocron.On(new(memlease.Store), quiet, solocron.WithLocation(tokyo))
		require.Equal(t, tokyo, c.Location())
		for name, want := range map[string]struct {
			spec string
			hour int
		}{
			"default": {"0 9 * * *", 0},
			"cron_tz": {"CRON_TZ=America/New_York 0 9 * * *", 14},
			"tz":      {"TZ=UTC 0 9 * * *", 9},
		} {
			id, err := c.AddFunc(name, want.spec, func() {})
			require.NoError(t, err)
			require.Equal(t, want.hour, c.Entry(id).Next.UTC().Hour(), name)
		}
		<-c.Stop().Done()
	})
}

func TestStopWaitsForRuns(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c, ended := solocron.On(new(memlease.Store), quiet), make(chan struct{})
		_, err := c.AddFunc("slow", "@every 1h", func() { time.Sleep(10 * time.Second); close(ended) })
		require.NoError(t, err)
		require.NoError(t, c.Start())
		time.Sleep(time.Hour + time.Second)
		ctx := c.Stop()
		require.NoError(t, ctx.Err())
		<-ctx.Done()
		select {
		case <-ended:
		default:
			require.Fail(t, "Stop's context ended before the run did")
		}
		<-c.Stop().Done() // again
	})
}

func TestPanicsDoNotEndTheProcess(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c, runs := solocron.On(new(memlease.Store), quiet, solocron.WithChain(cron.Recover(cron.DiscardLogger))), new(count)
		_, err := c.AddFunc("panics", "@every 1m", func() { runs.Run(); panic("out of paper") })
		require.NoError(t, err)
		require.NoError(t, c.Start())
		time.Sleep(3*time.Minute + time.Second)
		require.EqualValues(t, 3, runs.n.Load())
		<-c.Stop().Done()
	})
}

func TestChainsWrapInOrder(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var order []string
		wrap := func(name string) solocron.JobWrapper {
			return func(j solocron.Job) solocron.Job {
				return solocron.FuncJob(func() { order = append(order, name); j.Run() })
			}
		}
		c := solocron.On(new(memlease.Store), quiet, solocron.WithChain(wrap("outer"), wrap("inner")))
		_, err := c.AddFunc("job", "@every 1h", func() { order = append(order, "job") })
		require.NoError(t, err)
		require.NoError(t, c.Start())
		time.Sleep(time.Hour + time.Second)
		<-c.Stop().Done()
		require.Equal(t, []string{"outer", "inner", "job"}, order)
	})
}

// A parsed schedule has the same ticks as its text.
func TestSchedulesOfRobfigKeepTheirTicks(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		for _, spec := range []string{
			"CRON_TZ=UTC */15 9-17 * * MON-FRI", "CRON_TZ=Asia/Tokyo 30 2 1,15 * *", "CRON_TZ=UTC 0 0 13 * FRI", "@every 90s", "CRON_TZ=UTC @daily",
		} {
			parsed, err := cron.ParseStandard(spec)
			require.NoError(t, err)
			c := solocron.On(new(memlease.Store), quiet)
			id, err := c.Schedule("job", parsed, new(count))
			require.NoError(t, err, spec)
			if spec == "@every 90s" { // which is aligned here
				require.Zero(t, c.Entry(id).Next.Unix()%90)
				continue
			}
			at, want := time.Now(), time.Now()
			for range 50 {
				at, want = c.Entry(id).Schedule.Next(at), parsed.Next(want)
				require.Equal(t, want.UTC(), at.UTC(), spec)
			}
			<-c.Stop().Done()
		}
	})
}

type own struct{}

func (own) Next(t time.Time) time.Time { return t.Add(time.Hour) }

func TestWrongArgumentsAreRefused(t *testing.T) {
	c := solocron.On(new(memlease.Store), quiet)
	noop := func() {}
	for want, try := range map[string]func() (solocron.EntryID, error){
		"solocron_test.own":  func() (solocron.EntryID, error) { return c.Schedule("own", own{}, solocron.FuncJob(noop)) },
		"bad name":           func() (solocron.EntryID, error) { return c.AddFunc("bad name", "@hourly", noop) },
		"61":                 func() (solocron.EntryID, error) { return c.AddFunc("job", "61 * * * *", noop) },
		"Nowhere":            func() (solocron.EntryID, error) { return c.AddFunc("job", "CRON_TZ=Nowhere/Land @hourly", noop) },
		"handler: nil":       func() (solocron.EntryID, error) { return c.AddFunc("job", "@hourly", nil) },
		"must be a function": func() (solocron.EntryID, error) { return c.AddJob("job", "@hourly", nil) },
		"CRON_TZ": func() (solocron.EntryID, error) {
			return c.Schedule("job", must(cron.ParseStandard("@daily")), solocron.FuncJob(noop))
		},
		"must be unique": func() (solocron.EntryID, error) {
			_, _ = c.AddFunc("twice", "@hourly", noop)
			return c.AddFunc("twice", "@hourly", noop)
		},
	} {
		id, err := try()
		require.ErrorContains(t, err, want)
		require.Zero(t, id)
	}
	<-c.Stop().Done()

	six := solocron.On(new(memlease.Store), solocron.WithSeconds(), solocron.WithLocation(time.Local), nil)
	_, err := six.AddFunc("job", "* * * * *", noop)
	for _, want := range []string{"options[2]", "location", "must have six"} {
		require.ErrorContains(t, err, want)
	}
	require.ErrorContains(t, six.Start(), "location")
	require.ErrorContains(t, six.Run(), "location")
	<-six.Stop().Done()
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
