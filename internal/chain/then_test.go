package chain

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
)

func TestThenGetsTheResultOfTheChain(t *testing.T) {
	handlers := map[string]jobs.Handler{
		"nil":    func(context.Context, jobs.Run) error { return nil },
		"error":  func(context.Context, jobs.Run) error { return io.ErrUnexpectedEOF },
		"panic":  func(context.Context, jobs.Run) error { panic("two\nlines") },
		"goexit": func(context.Context, jobs.Run) error { runtime.Goexit(); return nil },
	}
	policies := map[string][]jobs.Option{
		"default": nil,
		"timeout": {jobs.WithTimeout(time.Hour)},
		"retry":   {jobs.WithRetry(jobs.Retry{MaxAttempts: 2, Backoff: time.Millisecond, MaxBackoff: time.Millisecond})},
	}
	for policy, opts := range policies {
		for name, handler := range handlers {
			t.Run(policy+"/"+name, func(t *testing.T) {
				job, err := jobs.New("j", "@hourly", func(ctx context.Context, run jobs.Run) error {
					inContext, ok := jobs.FromContext(ctx)
					require.True(t, ok)
					require.Equal(t, run, inContext)
					return handler(ctx, run)
				}, opts...)
				require.NoError(t, err)
				run := jobs.Run{Job: "j", Attempt: 1}
				want := New(job, Hooks{})(t.Context(), run)

				results := make(chan error, 2)
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					NewThen(job, Hooks{})(t.Context(), run, func(err error) { results <- err })
				}()
				<-ended
				require.Len(t, results, 1, "called once")
				got := <-results
				if want == nil {
					require.NoError(t, got)
					return
				}
				require.EqualError(t, got, want.Error())
				require.Equal(t, fmt.Sprintf("%T", want), fmt.Sprintf("%T", got))
			})
		}
	}
}

func TestThenKeepsTheValuesOfItsContext(t *testing.T) {
	type key struct{}
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
	job, err := jobs.New("j", "@hourly", func(ctx context.Context, _ jobs.Run) error {
		require.Equal(t, "value", ctx.Value(key{}))
		child, stop := context.WithCancel(ctx)
		defer stop()
		cancel()
		<-child.Done()
		return context.Cause(child)
	})
	require.NoError(t, err)
	NewThen(job, Hooks{})(ctx, jobs.Run{}, func(err error) { require.ErrorIs(t, err, context.Canceled) })
}

func BenchmarkThenWithoutTimeoutAndRetry(b *testing.B) {
	job, err := jobs.New("j", "@hourly", func(context.Context, jobs.Run) error { return nil })
	require.NoError(b, err)
	handle := NewThen(job, Hooks{})
	ctx, run := b.Context(), jobs.Run{Attempt: 1}
	b.ReportAllocs()
	for b.Loop() {
		handle(ctx, run, func(error) {})
	}
}
