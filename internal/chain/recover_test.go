package chain

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
)

func TestRecoverPassesWhatTheHandlerReturns(t *testing.T) {
	for _, want := range []error{nil, io.ErrUnexpectedEOF} {
		var got jobs.Run
		handler := Recover(func(ctx context.Context, run jobs.Run) error {
			got = run
			return want
		})
		require.ErrorIs(t, handler(t.Context(), jobs.Run{Job: "j", Attempt: 2}), want)
		require.Equal(t, jobs.Run{Job: "j", Attempt: 2}, got)
	}
}

func TestPanicsKeepTheirValueAndStack(t *testing.T) {
	err := Recover(panicsOnPurpose)(t.Context(), jobs.Run{})

	panicked, ok := errors.AsType[*jobs.PanicError](err)
	require.True(t, ok)
	require.Equal(t, "two\nlines", panicked.Value)
	require.Equal(t, "panic: two lines", err.Error())
	require.Contains(t, string(panicked.Stack), "panicsOnPurpose")
	require.NoError(t, errors.Unwrap(panicked))
}

func panicsOnPurpose(context.Context, jobs.Run) error { panic("two\nlines") }

func TestRecoveredErrorsAreSeenThroughThePanic(t *testing.T) {
	err := Recover(func(context.Context, jobs.Run) error { panic(io.ErrUnexpectedEOF) })(t.Context(), jobs.Run{})
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

func TestPanicWithNilIsNoSuccess(t *testing.T) {
	err := Recover(func(context.Context, jobs.Run) error {
		panic(nil) //nolint:govet // the test is about it
	})(t.Context(), jobs.Run{})
	require.Error(t, err)
}

func TestGoexitFailsTheRunAndSparesTheCaller(t *testing.T) {
	returned := make(chan error, 1)
	go func() { // a broken Recover would end this goroutine, or the test's
		defer close(returned)
		returned <- Recover(func(context.Context, jobs.Run) error {
			runtime.Goexit()
			return nil
		})(t.Context(), jobs.Run{})
	}()
	err, ok := <-returned
	require.True(t, ok, "the caller's goroutine has ended")
	require.ErrorIs(t, err, jobs.ErrGoexit)
}

func TestRecoverWaitsForTheHandlersDefers(t *testing.T) {
	done := false
	err := Recover(func(context.Context, jobs.Run) error {
		defer func() { done = true }()
		panic("stop")
	})(t.Context(), jobs.Run{})
	require.Error(t, err)
	require.True(t, done)
}

func TestPanicErrorIsOneLineWhateverTheValue(t *testing.T) {
	for _, value := range []any{"a\r\n\tb", errors.New("a\nb"), []string{"a\nb"}, struct{ S string }{"\n"}} {
		require.False(t, strings.ContainsAny((&jobs.PanicError{Value: value}).Error(), "\r\n\t"))
	}
}

func BenchmarkChainWithoutTimeoutAndRetry(b *testing.B) {
	job, err := jobs.New("j", "@hourly", func(context.Context, jobs.Run) error { return nil })
	require.NoError(b, err)
	handler := New(job, Hooks{})
	ctx, run := b.Context(), jobs.Run{Attempt: 1}
	b.ReportAllocs()
	for b.Loop() {
		_ = handler(ctx, run)
	}
}
