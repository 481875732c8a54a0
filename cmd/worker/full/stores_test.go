package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/exitcode"
	"github.com/solotick/solotick/cmd/worker/internal/stores"
	"github.com/solotick/solotick/config"
)

func TestEveryServerOfTheConfigurationOpens(t *testing.T) {
	for scheme, example := range config.Servers {
		cfg, err := config.Parse("f", []byte("store: {url: '"+example+"'}\njobs: [{name: a, schedule: '@daily', log: {message: x}}]"), nil)
		require.NoError(t, err, scheme)
		require.False(t, cfg.Redis.Configured(), scheme)
		require.NoError(t, stores.Check(cfg), scheme)
		s, err := stores.Ask(cfg)
		require.NoError(t, err, scheme)
		require.NotContains(t, s.Addr, "password", scheme)
		require.NoError(t, s.Close(), scheme)
	}
}

func TestUnusableURLShowsNoPassword(t *testing.T) {
	for _, url := range []string{
		"mysql://u:s3cret@h", "mysql://u:s3cret@h/a/b", "mysql://u:s3cret@h/d?tls=s3cret", "postgres://u:s3cret@h/d?sslmode=s3cret",
		"etcd://u:s3cret@h?s3cret=x", "etcds://u:s3cret@h,?ca_file=/nowhere", "nats://u:s3cret@h/a.b", "tls://u:s3cret@h?replicas=s3cret",
		"zk://u:s3cret@h/a//b",
	} {
		cfg, err := config.Parse("f", []byte("store: {url: '"+url+"'}\njobs: [{name: a, schedule: '@daily', log: {message: x}}]"), nil)
		require.NoError(t, err, url)
		err = stores.Check(cfg)
		require.ErrorAs(t, err, new(*exitcode.ConfigError), url)
		require.ErrorContains(t, err, "store.url", url)
		require.NotContains(t, err.Error(), "s3cret", url)
	}
}
