package main

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick"
	"github.com/solotick/solotick/lease/memlease"
)

// lines counts the written lines.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func TestTwoReplicasGreetOncePerTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), 21*time.Second)
		defer stop()
		store, out := new(memlease.Store), new(lines)
		var replicas sync.WaitGroup
		for range 2 {
			replicas.Go(func() { require.NoError(t, run(ctx, solotick.On(store), out)) })
		}
		replicas.Wait()
		require.Equal(t, 10, bytes.Count(out.text.Bytes(), []byte("\n")), "greetings in 21 s, one every 2 s:\n%s", &out.text)
		require.Equal(t, 10, bytes.Count(out.text.Bytes(), []byte("attempt 1,")))
	})
}
