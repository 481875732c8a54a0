package main

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/redistest"
)

func TestOnlyLockAndFenceNeverRepeatNumbers(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: redistest.Start(t).Addr()})
	defer func() { require.NoError(t, client.Close()) }()
	var out bytes.Buffer
	require.NoError(t, demo(t.Context(), client, &out))

	var unlocked, unfenced, fenced, of, all int
	_, err := fmt.Sscanf(out.String(), "without a lock: %d of %d numbers given twice\n"+
		"with a lock, and a server that freezes: %d of %d numbers given twice\n"+
		"with a lock and a fence, and a server that freezes: %d of %d numbers given twice\n", &unlocked, &of, &unfenced, &of, &fenced, &all)
	require.NoError(t, err, &out)
	require.Positive(t, unlocked, "the harm without a lock")
	require.Positive(t, unfenced, "the harm without a fence")
	require.Zero(t, fenced)
	require.Equal(t, servers*ranges*size, all)
}
