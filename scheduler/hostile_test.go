package scheduler_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/scheduler"
)

// harmful is an error whose methods all do the same harm.
type harmful struct{ harm func() }

func (e *harmful) Error() string             { e.harm(); return "" }
func (e *harmful) Is(error) bool             { e.harm(); return true }
func (e *harmful) As(any) bool               { e.harm(); return true }
func (e *harmful) Unwrap() error             { e.harm(); return nil }
func (e *harmful) RetryAfter() time.Duration { e.harm(); return time.Hour }

// hostileErrors are errors of handlers, by their fault. stop ends those that would block for ever.
func hostileErrors(stop <-chan struct{}) map[string]error {
	return map[string]error{
		"typed-nil": (*harmful)(nil),
		"panics":    &harmful{func() { panic("harm") }},
		"goexit":    &harmful{runtime.Goexit},
		"blocks":    &harmful{func() { <-stop }},
		"huge":      errors.New(strings.Repeat("huge ", 1<<18)),
	}
}

func TestHostileErrorFailsItsRunOnly(t *testing.T) {
	inFleet(t, func(f *fleet) {
		stop := make(chan struct{})
		defer func() { // after the replicas have stopped, so that nothing depends on it
			f.stopAll()
			close(stop)
		}()
		f.observe = logging()
		for name, err := range hostileErrors(stop) {
			f.job(name, "@every 10s", func(context.Context, jobs.Run) error { return err })
			f.job(name+"-again", "@every 10s", func(context.Context, jobs.Run) error { panic(err) }, retries(2, time.Second))
		}
		f.job("good", "@every 10s", takes(0))
		f.startMany(2)
		f.sleepTo(25 * time.Second)
		for _, job := range f.jobs {
			outcome, note := f.noteOf(job.Name(), at(10*time.Second))
			if job.Name() == "good" {
				require.Equal(t, wire.Succeeded, outcome)
				continue
			}
			require.Equal(t, wire.Failed, outcome, job.Name())
			require.NotEmpty(t, note.Error, job.Name())
		}
		for _, r := range f.replicas {
			require.Zero(t, r.Held())
			require.True(t, r.Ready())
		}
	})
}

func TestHostileErrorOfLeaderTaskKeepsItsLease(t *testing.T) {
	inFleet(t, func(f *fleet) {
		stop := make(chan struct{})
		defer func() {
			f.stopAll()
			close(stop)
		}()
		f.observe = logging()
		for name, err := range hostileErrors(stop) {
			f.leader(name, func(context.Context, jobs.Run) error { return err })
		}
		f.start("r1")
		f.sleepTo(time.Minute)
		for _, job := range f.jobs {
			runs := f.runs.of(job.Name())
			require.Greater(t, len(runs), 2, job.Name())
			for _, r := range runs {
				require.Equal(t, runs[0].Token, r.Token, job.Name())
			}
			require.NotNil(t, f.leading(job.Name()), job.Name())
		}
	})
}

// logging returns an observer that logs everything, in text and in JSON, to nobody.
func logging() func(string, scheduler.Event) {
	options := &slog.HandlerOptions{Level: slog.LevelDebug}
	text := scheduler.LogEvents(slog.New(slog.NewTextHandler(io.Discard, options))) //nolint:sloglint // DiscardHandler formats nothing
	json := scheduler.LogEvents(slog.New(slog.NewJSONHandler(io.Discard, options))) //nolint:sloglint // the same
	return func(_ string, e scheduler.Event) {
		text(e)
		json(e)
	}
}
