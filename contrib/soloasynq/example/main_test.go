package main

import (
	"bufio"
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/redistest"
)

func TestTwoReplicasWorkOnEachTickOnce(t *testing.T) {
	server := redistest.Start(t)
	lines, out := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	for range 2 {
		go func() { ended <- serve(ctx, server.Client(t), "* * * * * *", out) }()
	}
	seen, tasks := map[string]bool{}, bufio.NewScanner(lines)
	for len(seen) < 4 {
		require.True(t, tasks.Scan())
		require.Contains(t, tasks.Text(), " of asynq-example/invoices/")
		require.NotContains(t, seen, tasks.Text(), "it was done before")
		seen[tasks.Text()] = true
	}
	stop()
	go func() { _, _ = io.Copy(io.Discard, lines) }() // what is done meanwhile
	for range 2 {
		require.NoError(t, <-ended)
	}
}
