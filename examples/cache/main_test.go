package main

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/redistest"
)

func TestOnlyLockAndFenceFillOnceAndForward(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: redistest.Start(t).Addr()})
	defer func() { require.NoError(t, client.Close()) }()
	var out bytes.Buffer
	require.NoError(t, demo(t.Context(), client, &out))

	const line = ": 200 requests asked the source %d times, then the cache has version %d of 2\n"
	var asked, version [3]int
	_, err := fmt.Sscanf(out.String(), "without a lock"+line+"with a lock, and a server that freezes"+line+
		"with a lock and a fence, and a server that freezes"+line,
		&asked[0], &version[0], &asked[1], &version[1], &asked[2], &version[2])
	require.NoError(t, err, &out)
	require.Greater(t, asked[0], 1, "the harm without a lock")
	require.Equal(t, 1, asked[1])
	require.Equal(t, 1, version[1], "the harm without a fence")
	require.Equal(t, 1, asked[2])
	require.Equal(t, 2, version[2])
}
