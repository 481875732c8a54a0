package chain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
)

// hostile is an error each of whose methods does what the test says.
type hostile struct{ error, is, as, unwrap, retryAfter func() }

func (e *hostile) Error() string             { callOrNil(e.error); return "hostile" }
func (e *hostile) Is(error) bool             { callOrNil(e.is); return false }
func (e *hostile) As(any) bool               { callOrNil(e.as); return false }
func (e *hostile) Unwrap() error             { callOrNil(e.unwrap); return nil }
func (e *hostile) RetryAfter() time.Duration { callOrNil(e.retryAfter); return 0 }

func callOrNil(f func()) {
	if f != nil {
		f()
	}
}

type typedNil struct{ text string }

func (e *typedNil) Error() string { return e.text }

func TestChainContainsHostileErrors(t *testing.T) {
	harms := map[string]func(stop <-chan struct{}) func(){
		"panics":              func(<-chan struct{}) func() { return func() { panic("harm") } },
		"ends its goroutine":  func(<-chan struct{}) func() { return runtime.Goexit },
		"blocks forever":      func(stop <-chan struct{}) func() { return func() { <-stop } },
		"panics with itself":  func(<-chan struct{}) func() { return func() { panic((*typedNil)(nil)) } },
		"panics with nothing": func(<-chan struct{}) func() { return func() { panic(nil) } }, //nolint:govet // is tested
	}
	methods := map[string]func(harm func()) error{
		"Error":      func(harm func()) error { return &hostile{error: harm} },
		"Is":         func(harm func()) error { return &hostile{is: harm} },
		"As":         func(harm func()) error { return &hostile{as: harm} },
		"Unwrap":     func(harm func()) error { return &hostile{unwrap: harm} },
		"RetryAfter": func(harm func()) error { return &hostile{retryAfter: harm} },
		"all":        func(harm func()) error { return &hostile{harm, harm, harm, harm, harm} },
		"wrapped":    func(harm func()) error { return lazily{&hostile{harm, harm, harm, harm, harm}} },
		"typed nil":  func(func()) error { return (*typedNil)(nil) },
		"permanent":  func(harm func()) error { return jobs.Permanent(&hostile{error: harm}) },
	}
	chains := map[string][]jobs.Option{
		"plain":   nil,
		"timeout": {jobs.WithTimeout(time.Minute)},
		"retry":   {jobs.WithRetry(jobs.Retry{MaxAttempts: 2, Backoff: time.Second, MaxBackoff: time.Second})},
	}
	for harmName, harm := range harms {
		for methodName, method := range methods {
			for chainName, options := range chains {
				for _, panics := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s/%s/%s/panic=%t", methodName, harmName, chainName, panics), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							stop := make(chan struct{})
							defer close(stop)
							job, err := jobs.New("j", "@hourly", func(context.Context, jobs.Run) error {
								err := method(harm(stop))
								if panics {
									panic(err)
								}
								return err
							}, options...)
							require.NoError(t, err)

							began := time.Now()
							got := make(chan error)
							go NewThen(job, Hooks{})(t.Context(), jobs.Run{Attempt: 1}, func(err error) { got <- err })
							err = <-got

							require.Error(t, err)
							require.NotEmpty(t, err.Error())
							require.NotErrorIs(t, err, io.EOF)
							_, ok := errors.AsType[*jobs.TimeoutError](err)
							require.False(t, ok)
							require.Less(t, time.Since(began), 15*time.Second)
						})
					})
				}
			}
		}
	}
}

// lazily is an error that is harmful only as far as what it wraps is.
type lazily struct{ err error }

func (e lazily) Error() string { return "lazily: " + e.err.Error() }
func (e lazily) Unwrap() error { return e.err }

func TestFailureTextIsReadOnce(t *testing.T) {
	reads := 0
	err := Recover(func(context.Context, jobs.Run) error {
		return &hostile{error: func() {
			if reads++; reads > 1 {
				panic("again")
			}
		}}
	})(t.Context(), jobs.Run{})
	for range 3 {
		require.EqualError(t, err, "hostile")
	}
}

func TestFailureKeepsBothEndsOfHugeText(t *testing.T) {
	err := Recover(func(context.Context, jobs.Run) error {
		return errors.New("first line\n" + strings.Repeat("x", 100<<20) + "\nlast line")
	})(t.Context(), jobs.Run{})
	require.LessOrEqual(t, len(err.Error()), 64<<10)
	require.True(t, strings.HasPrefix(err.Error(), "first line\nxxx"))
	require.True(t, strings.HasSuffix(err.Error(), "xxx\nlast line"))
	require.Contains(t, err.Error(), "\n[...]\n")
}

func TestFailureMatchesWhatTheHandlerReturned(t *testing.T) {
	wanted := &typedNil{text: "wanted"}
	err := Recover(func(context.Context, jobs.Run) error {
		return fmt.Errorf("one: %w", errors.Join(io.EOF, wanted))
	})(t.Context(), jobs.Run{})
	require.ErrorIs(t, err, io.EOF)
	require.NotErrorIs(t, err, io.ErrUnexpectedEOF)
	found, ok := errors.AsType[*typedNil](err)
	require.True(t, ok)
	require.Same(t, wanted, found)
	_, ok = errors.AsType[*jobs.PanicError](err)
	require.False(t, ok)
}
