package main

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/redistest"
)

func TestOnlyLockAndFenceNeverOversell(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: redistest.Start(t).Addr()})
	defer func() { require.NoError(t, client.Close()) }()
	var out bytes.Buffer
	require.NoError(t, demo(t.Context(), client, &out))

	var unlocked, unfenced, fenced, of int
	_, err := fmt.Sscanf(out.String(), "without a lock: %d of %d pieces sold\n"+
		"with a lock, and a buyer who freezes: %d of %d pieces sold\n"+
		"with a lock and a fence, and a buyer who freezes: %d of %d pieces sold\n", &unlocked, &of, &unfenced, &of, &fenced, &of)
	require.NoError(t, err, &out)
	require.Greater(t, unlocked, pieces, "the harm without a lock")
	require.Equal(t, pieces+1, unfenced, "the harm without a fence")
	require.Equal(t, pieces, fenced)
}
