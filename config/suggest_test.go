package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryKeyBelongsWhereItsSuggestionSays(t *testing.T) {
	for key, want := range map[string]string{
		"command": "exec, in a job", "body": "http, in a job", "message": "log, in a job", "maxlen": "redis_stream, in a job",
		"backoff": "retry, in a job or in defaults", "addr": "http, at the top level", "ttl": "lease, at the top level",
		"level": "log, at the top level", "wait_replicas": "redis, at the top level", "ca_file": "redis.tls, at the top level",
		"url": "", "timeout": "", "name": "", "namespace": "", "token": "",
	} {
		require.Equal(t, want, sections()[key], key)
	}
}

func TestASuggestionIsCloseOrThereIsNone(t *testing.T) {
	known := []string{"addr", "schedule", "timeout"}
	for key, want := range map[string]string{
		"adr": "did you mean addr?", "time_out": "did you mean timeout?", "Timeout": "did you mean timeout?", "shedule": "did you mean schedule?",
		"x": "the keys here are addr, schedule, timeout", "cron": "the keys here are addr, schedule, timeout",
	} {
		require.Equal(t, want, newReader("", nil).suggestion(key, known), key)
	}
	require.Equal(t, strings.Join(known, ", "), strings.TrimPrefix(newReader("", nil).suggestion("qqqqqqqq", known), "the keys here are "))
}
