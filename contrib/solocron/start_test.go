package solocron_test

import (
	"bytes"
	"context"
	"log"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/robfig/cron/v3"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick"
	"github.com/solotick/solotick/contrib/solocron"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/scheduler"
)

func TestStoppedCanStartAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c, runs, late := solocron.On(new(memlease.Store), quiet), new(count), new(count)
		<-c.Stop().Done() // before the start
		_, err := c.AddFunc("job", "@every 1m", runs.Run)
		require.NoError(t, err)
		gone, err := c.AddFunc("gone", "@every 1m", func() { t.Error("it was removed") })
		require.NoError(t, err)
		require.NoError(t, c.Start())
		require.NoError(t, c.Start(), "again, which does nothing")
		c.Remove(gone)
		time.Sleep(time.Minute + time.Second)
		require.EqualValues(t, 1, runs.n.Load())

		require.Error(t, c.Stop().Err(), "nothing runs, so it has ended")
		require.Error(t, c.Stop().Err(), "again")
		_, err = c.AddFunc("late", "@every 1m", late.Run)
		require.NoError(t, err)
		_, err = c.AddFunc("job", "@every 1m", late.Run)
		require.ErrorContains(t, err, "must be unique")
		time.Sleep(time.Hour)
		require.EqualValues(t, 1, runs.n.Load())
		require.Zero(t, late.n.Load())
	})
}

func TestJobsRunAfterEachStart(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c, runs, late := solocron.On(new(memlease.Store), quiet), new(count), new(count)
		_, err := c.AddFunc("job", "@every 1m", runs.Run)
		require.NoError(t, err)
		for range 3 {
			before := runs.n.Load()
			ended := make(chan error)
			go func() { ended <- c.Run() }()
			time.Sleep(5*time.Minute + time.Second)
			require.InDelta(t, before+5, runs.n.Load(), 1, "the newest tick of before may be caught up")
			stopped := c.Stop()
			require.NoError(t, <-ended)
			<-stopped.Done()
			if before == 0 {
				_, err = c.AddFunc("late", "@every 1m", late.Run)
				require.NoError(t, err)
			}
		}
		require.InDelta(t, 10, late.n.Load(), 1)
	})
}

// A program that comes from robfig looks at no error of Start.
func TestAWrongSettingIsSaidAtOnce(t *testing.T) {
	for name, newCron := range map[string]func(logs *bytes.Buffer) *solocron.Cron{
		"namespace": func(logs *bytes.Buffer) *solocron.Cron {
			return solocron.New(redis.NewClient(&redis.Options{}), "not a name", withRobfigs(logs))
		},
		"location": func(logs *bytes.Buffer) *solocron.Cron {
			return solocron.On(new(memlease.Store), solocron.WithLocation(nil), withRobfigs(logs))
		},
	} {
		t.Run(name, func(t *testing.T) {
			logs := new(bytes.Buffer)
			c := newCron(logs)
			id, err := c.AddFunc("job", "@hourly", func() {})
			require.ErrorContains(t, err, name)
			require.Zero(t, id)
			require.Empty(t, c.Entries())
			require.ErrorContains(t, c.Start(), name)
			require.Contains(t, logs.String(), "the cron does not run, error=")
			require.Contains(t, logs.String(), name)
			<-c.Stop().Done()
		})
	}
	// What only the start finds is logged where everything is.
	usual, logs := slog.Default(), new(bytes.Buffer)
	slog.SetDefault(slog.New(slog.NewTextHandler(logs, nil)))
	defer slog.SetDefault(usual)
	c := solocron.On(new(memlease.Store), solocron.WithOptions(solotick.WithScheduler(scheduler.WithReplica("no name"))))
	require.ErrorContains(t, c.Start(), "no name")
	require.Contains(t, logs.String(), `level=ERROR msg="the cron does not run"`)
	<-c.Stop().Done()
}

func withRobfigs(logs *bytes.Buffer) solocron.Option {
	return solocron.WithLogger(cron.VerbosePrintfLogger(log.New(logs, "", 0)))
}

func TestTheLoggerOfRobfigIsWrittenTo(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		logs := new(bytes.Buffer)
		c := solocron.On(new(memlease.Store), withRobfigs(logs))
		_, err := c.AddFunc("panics", "@every 1m", func() { panic("out of paper") })
		require.NoError(t, err)
		require.NoError(t, c.Start())
		time.Sleep(time.Minute + time.Second)
		<-c.Stop().Done()
		for _, want := range []string{
			"added, now=2000-01-01T00:00:00Z, entry=panics, next=2000-01-01T00:01:00Z", "start\n", "schedule, entry=panics, next=", "run, now=", "stop\n",
			"tick settled, error=panic: out of paper, job=panics",
		} {
			require.Contains(t, logs.String(), want)
		}
	})
}

func TestNextIsInTheZoneOfTheCron(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		tokyo, err := time.LoadLocation("Asia/Tokyo")
		require.NoError(t, err)
		c := solocron.On(new(memlease.Store), quiet, solocron.WithLocation(tokyo))
		for name, spec := range map[string]string{"own": "0 9 * * *", "another": "CRON_TZ=America/New_York 0 9 * * *", "every": "@every 1h"} {
			id, err := c.AddFunc(name, spec, func() {})
			require.NoError(t, err)
			require.Equal(t, tokyo, c.Entry(id).Next.Location(), name)
		}
		_, err = c.Scheduler().Trigger(context.Background(), "nobody", "test")
		require.Error(t, err)
		<-c.Stop().Done()
	})
}

func TestADayThatNeverComesIsAccepted(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c, runs := solocron.On(new(memlease.Store), quiet), new(count)
		id, err := c.AddFunc("off", "0 0 30 2 *", runs.Run)
		require.NoError(t, err)
		_, err = c.AddFunc("leap", "0 0 29 2 *", func() {})
		require.NoError(t, err)
		require.True(t, c.Entry(id).Next.IsZero())
		require.NotZero(t, c.Entries()[0].Next)
		require.NoError(t, c.Start())
		_, err = c.Scheduler().Trigger(t.Context(), "off", "test")
		require.NoError(t, err)
		time.Sleep(time.Hour)
		require.EqualValues(t, 1, runs.n.Load())
		<-c.Stop().Done()
	})
}
