package lock_test

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lock"
)

// sellOne has the Go code of docs/migrate/redisson.md, word for word.
func sellOne(ctx context.Context, locks *lock.Locks, take func(ctx context.Context, token int64, n int) error) (bool, error) {
	stockLock := locks.Mutex("stock", lock.WithFairness(), lock.WithWaitTimeout(3*time.Second))
	hold, err := stockLock.Acquire(ctx)
	if errors.Is(err, lease.ErrHeld) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = hold.Release(ctx) }()
	return true, take(hold.Context(), hold.Token(), 1)
}

func TestTheRedissonPageSaysWhatRuns(t *testing.T) {
	locks := lock.New(new(memlease.Store))
	defer locks.Close()
	sold, err := sellOne(t.Context(), locks, func(_ context.Context, token int64, n int) error {
		require.Equal(t, 1, n)
		require.Greater(t, token, time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(), "tokens begin at the time in microseconds")
		return nil
	})
	require.NoError(t, err)
	require.True(t, sold)

	page, err := os.ReadFile("../docs/migrate/redisson.md")
	require.NoError(t, err)
	source, err := os.ReadFile("redisson_test.go")
	require.NoError(t, err)
	block := regexp.MustCompile("(?s)```go\n(.*?)```").FindStringSubmatch(string(page))
	require.Contains(t, strings.ReplaceAll(string(source), "\n\t", "\n"), block[1])
}
