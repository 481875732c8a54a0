package fence_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fence"
	"github.com/solotick/solotick/internal/fencing"
)

func TestStaleErrorIsFoundThroughWhatWrapsIt(t *testing.T) {
	err := fmt.Errorf("write: %w", &fence.StaleError{Resource: "account-7", Token: 5, Newest: 6})
	require.ErrorIs(t, err, fence.ErrStale)
	require.EqualError(t, err, `write: fence: stale fencing token: "account-7" has seen token 6, which is newer than 5; end this run, for another was granted its lease`)
	require.NotErrorIs(t, errors.New("fence: stale fencing token"), fence.ErrStale)
}

func TestFaultsAreReportedTogether(t *testing.T) {
	require.NoError(t, fencing.Validate(strings.Repeat("x", fencing.MaxResource), fencing.MaxToken))
	require.NoError(t, fencing.Validate("é \n", 1))
	for _, resource := range []string{"", strings.Repeat("x", fencing.MaxResource+1), "a\x00b", "\xff"} {
		require.ErrorContains(t, fencing.Validate(resource, 1), "resource", "%q", resource)
	}
	for _, token := range []int64{0, -1, fencing.MaxToken + 1} {
		require.ErrorContains(t, fencing.Validate("a", token), fmt.Sprintf("token %d", token))
	}
	err := fencing.Validate("", 0)
	require.ErrorContains(t, err, "resource")
	require.ErrorContains(t, err, "token 0")
}

func TestAContextCarriesTheTokenOfTheInnermost(t *testing.T) {
	_, ok := fence.FromContext(t.Context())
	require.False(t, ok)
	token, ok := fence.FromContext(fence.NewContext(fence.NewContext(t.Context(), 5), 6))
	require.True(t, ok)
	require.Equal(t, int64(6), token)
}

func TestMemoryRefusesTokensBelowTheNewestOnly(t *testing.T) {
	var m fence.Memory
	require.NoError(t, m.Raise(t.Context(), "a", 5))
	require.NoError(t, m.Raise(t.Context(), "a", 5))
	require.Equal(t, &fence.StaleError{Resource: "a", Token: 4, Newest: 5}, m.Raise(t.Context(), "a", 4))
	require.NoError(t, m.Raise(t.Context(), "b", 1))
	require.NoError(t, m.Raise(t.Context(), "a", 6))
	require.ErrorIs(t, m.Raise(t.Context(), "a", 5), fence.ErrStale)
	require.ErrorContains(t, m.Raise(t.Context(), "", 0), "resource")
}

func TestFailedWriteReturnsItsErrorAndKeepsToken(t *testing.T) {
	var m fence.Memory
	mine := errors.New("mine")
	require.Equal(t, mine, m.Do(t.Context(), "a", 5, func() error { return mine }))
	require.Panics(t, func() { _ = m.Do(t.Context(), "a", 6, func() error { panic("mine") }) })
	require.ErrorIs(t, m.Raise(t.Context(), "a", 5), fence.ErrStale)
	require.NoError(t, m.Raise(t.Context(), "a", 6))
}

func TestWriteIsAwaitedUntilTheContextEnds(t *testing.T) {
	var m fence.Memory
	require.NoError(t, m.Do(t.Context(), "a", 5, func() error {
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("enough")
		cancel(cause)
		err := m.Do(ctx, "a", 6, func() error { t.Error("written in the midst of another write"); return nil })
		require.ErrorIs(t, err, cause)
		require.NotErrorIs(t, err, fence.ErrStale)
		require.NoError(t, m.Raise(t.Context(), "b", 1)) // another resource does not wait
		return nil
	}))
	require.NoError(t, m.Raise(t.Context(), "a", 5)) // a write that gave up waiting is not remembered
}

func TestWritesToMemoryRise(t *testing.T) {
	var m fence.Memory
	var written []int64 // without a lock: the race detector looks whether Do is one
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 200 {
				token := 1 + rand.Int64N(2000)
				err := m.Do(t.Context(), "a", token, func() error {
					written = append(written, token)
					runtime.Gosched() // others are given their chance
					return nil
				})
				if err != nil && !errors.Is(err, fence.ErrStale) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	require.NotEmpty(t, written)
	require.IsNonDecreasing(t, written)
}
