package chain

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
)

// noting notes the attempts that it is around, and how they ended.
func noting(name string, notes *[]string) Wrapper {
	return func(next jobs.Handler) jobs.Handler {
		return func(ctx context.Context, run jobs.Run) error {
			inContext, _ := jobs.FromContext(ctx)
			_, limited := ctx.Deadline()
			*notes = append(*notes, fmt.Sprintf("%s begins %d/%d %t", name, run.Attempt, inContext.Attempt, limited))
			err := next(ctx, run)
			*notes = append(*notes, fmt.Sprintf("%s ends %d: %v", name, run.Attempt, err))
			return err
		}
	}
}

func TestWrappersAreAroundEachAttemptInOrder(t *testing.T) {
	handler := func(_ context.Context, run jobs.Run) error {
		switch run.Attempt {
		case 1:
			return errors.New("no")
		case 2:
			panic("two")
		case 3:
			runtime.Goexit()
		}
		return nil
	}
	job, err := jobs.New("j", "@hourly", handler, jobs.WithTimeout(time.Hour),
		jobs.WithRetry(jobs.Retry{MaxAttempts: 4, Backoff: time.Millisecond, MaxBackoff: time.Millisecond}))
	require.NoError(t, err)
	var notes []string
	hooks := Hooks{Wrappers: []Wrapper{noting("outer", &notes), noting("inner", &notes)}}
	require.NoError(t, New(job, hooks)(t.Context(), jobs.Run{Job: "j", Attempt: 1}))
	var want []string
	for i, err := range []string{"no", "panic: two", jobs.ErrGoexit.Error(), "<nil>"} {
		want = append(want, fmt.Sprintf("outer begins %d/%[1]d true", i+1), fmt.Sprintf("inner begins %d/%[1]d true", i+1),
			fmt.Sprintf("inner ends %d: %s", i+1, err), fmt.Sprintf("outer ends %d: %s", i+1, err))
	}
	require.Equal(t, want, notes)
}

func TestWrapperThatPanicsFailsItsAttempt(t *testing.T) {
	for name, options := range map[string][]jobs.Option{
		"default": nil,
		"retry":   {jobs.WithRetry(jobs.Retry{MaxAttempts: 2, Backoff: time.Millisecond, MaxBackoff: time.Millisecond})},
	} {
		for what, do := range map[string]func(){"panic": func() { panic("no") }, "goexit": runtime.Goexit} {
			t.Run(name+"/"+what, func(t *testing.T) {
				called := false
				job, err := jobs.New("j", "@hourly", func(context.Context, jobs.Run) error { called = true; return nil }, options...)
				require.NoError(t, err)
				results := make(chan error, 2)
				hooks := Hooks{Wrappers: []Wrapper{func(jobs.Handler) jobs.Handler {
					return func(context.Context, jobs.Run) error { do(); return nil }
				}}}
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					NewThen(job, hooks)(t.Context(), jobs.Run{Job: "j", Attempt: 1}, func(err error) { results <- err })
				}()
				<-ended
				require.Len(t, results, 1)
				require.Error(t, <-results)
				require.False(t, called)
			})
		}
	}
}

func TestWrapperDecidesAboutErrorAndContext(t *testing.T) {
	type key struct{}
	job, err := jobs.New("j", "@hourly", func(ctx context.Context, _ jobs.Run) error {
		require.Equal(t, "value", ctx.Value(key{}))
		return errors.New("no")
	})
	require.NoError(t, err)
	hooks := Hooks{Wrappers: []Wrapper{func(next jobs.Handler) jobs.Handler {
		return func(ctx context.Context, run jobs.Run) error {
			require.EqualError(t, next(context.WithValue(ctx, key{}, "value"), run), "no")
			return nil
		}
	}}}
	require.NoError(t, New(job, hooks)(t.Context(), jobs.Run{Job: "j", Attempt: 1}))
}
