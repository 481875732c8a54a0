package main

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fence"
	"github.com/solotick/solotick/fence/redisfence"
	"github.com/solotick/solotick/internal/redistest"
)

type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Count(l.text.Bytes(), []byte(text))
}

func TestASuccessorAddsEachOrderOnce(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: redistest.Start(t).Addr()})
	defer func() { require.NoError(t, client.Close()) }()
	order := func(n int) {
		for range n {
			require.NoError(t, client.XAdd(t.Context(), &redis.XAddArgs{Stream: orders, Values: []any{"amount", 2}}).Err())
		}
	}
	total := func(want string) func() bool {
		return func() bool { return client.HGet(t.Context(), sums, "total").Val() == want }
	}
	start := func() (*lines, func()) {
		out := new(lines)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- run(ctx, client, out) }()
		return out, func() { cancel(); require.NoError(t, <-ended) }
	}

	first, stopFirst := start()
	order(10)
	require.Eventually(t, total("20"), time.Minute, 10*time.Millisecond)
	second, stopSecond := start()
	defer stopSecond()
	require.Zero(t, second.count("leads"))
	stopFirst()
	order(10)
	require.Eventually(t, total("40"), time.Minute, 10*time.Millisecond)
	require.Equal(t, 10, first.count("added"))
	require.Eventually(t, func() bool { return second.count("added") == 10 }, time.Minute, 10*time.Millisecond)

	script, err := redisfence.NewScript(add)
	require.NoError(t, err)
	late := script.Run(t.Context(), client, 1, []string{sums}, 2, "1-1") // as a leader that was frozen since
	require.ErrorIs(t, late.Err(), fence.ErrStale)
}
