package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/config"
)

func storeOf(t *testing.T, text string) *config.Config {
	t.Helper()
	c, err := config.Parse("f", []byte(text+"\njobs: [{name: a, schedule: '@daily', log: {message: m}}]"), noEnv)
	require.NoError(t, err)
	return c
}

func TestStoreIsFoundFromItsFile(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "/etc/solotick/nightly.db",
		"store: {url: sqlite:solotick.db}":       "/etc/solotick/solotick.db",
		"store: {url: 'sqlite:../a b/c.db'}":     "/etc/a b/c.db",
		"store: {url: sqlite:/var/lib/a.db}":     "/var/lib/a.db",
		"store: {url: 'sqlite:///var/lib/a.db'}": "/var/lib/a.db",
	} {
		c := storeOf(t, text)
		c.Locate("/etc/solotick/nightly.yaml")
		path, ok := c.Store.File()
		require.True(t, ok, text)
		require.Equal(t, want, path, text)
	}
	for file, want := range map[string]string{"nightly.yaml": "nightly.db", "a/b.c.yml": "a/b.c.db", "/dev/stdin": "solotick.db", "": "solotick.db"} {
		c := storeOf(t, "")
		c.Locate(file)
		path, _ := c.Store.File()
		require.Equal(t, want, path)
	}
}

func TestStoreMayBeOneURL(t *testing.T) {
	c := storeOf(t, "store: {url: 'redis://h/1'}")
	c.Locate("f.yaml")
	require.Equal(t, "redis://h/1", c.Redis.URL.Reveal())
	_, inFile := c.Store.File()
	require.False(t, inFile)

	c = storeOf(t, "store: {url: 'memory:'}")
	c.Locate("f.yaml")
	require.Equal(t, "memory:", c.Store.URL.Reveal())
	require.False(t, c.Redis.Configured())

	c = storeOf(t, "redis: {url: redis://h}")
	c.Locate("f.yaml")
	require.Empty(t, c.Store.URL.Reveal())
}

func TestSetReplacesTheOtherPlaceToMeet(t *testing.T) {
	c := storeOf(t, "redis: {url: redis://h, wait_replicas: 1}")
	require.NoError(t, c.Set("store.url", "sqlite:a.db"))
	require.False(t, c.Redis.Configured())
	require.Zero(t, c.Redis.WaitReplicas)
	require.NoError(t, c.Set("redis.url", "redis://other"))
	require.Empty(t, c.Store.URL.Reveal())
	require.NoError(t, c.Set("store.url", "redis://third"))
	require.Equal(t, "redis://third", c.Redis.URL.Reveal())
	require.NoError(t, c.Set("store.url", "memory:"))
	require.False(t, c.Redis.Configured())
}
