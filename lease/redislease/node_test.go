package redislease_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease/redislease"
)

func TestAClusterIsNoNode(t *testing.T) {
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}})
	t.Cleanup(func() { require.NoError(t, client.Close()) })

	_, err := redislease.NewNode(client, "default")

	require.ErrorContains(t, err, "*redis.ClusterClient")
}

func TestFaultyNodesAreRefused(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	t.Cleanup(func() { require.NoError(t, client.Close()) })

	_, err := redislease.NewNode(client, "a:b")

	require.ErrorContains(t, err, `namespace "a:b"`)
}
