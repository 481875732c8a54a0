package redisstream

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/jobs"
)

func TestBothKeysAreInOneSlot(t *testing.T) {
	node := redistest.Start(t, redistest.WithConf("cluster-enabled", "yes")).Client(t)
	for name, want := range map[string]string{
		"events":        "{events}:solotick:billing:report",
		"a:b":           "{a:b}:solotick:billing:report",
		"events:{eu}":   "events:{eu}:solotick:billing:report",
		"{eu}":          "{eu}:solotick:billing:report",
		"{eu}:{us}":     "{eu}:{us}:solotick:billing:report",
		"a}b{c}d":       "a}b{c}d:solotick:billing:report",
		"a{b":           "{a{b}:solotick:billing:report",
		"{{a}":          "{{a}:solotick:billing:report",
		"größe \n\x00!": "{größe \n\x00!}:solotick:billing:report",
	} {
		stream := Stream{Name: name}
		require.NoError(t, stream.Validate())
		key := stream.memoryKey(run)
		require.Equal(t, want, key)
		require.Equal(t, node.ClusterKeySlot(t.Context(), name).Val(), node.ClusterKeySlot(t.Context(), key).Val(), name)
	}
}

func TestFaultsOfAStreamAreReportedTogether(t *testing.T) {
	client := redistest.Start(t).Client(t)
	_, err := New(nil, Stream{MaxLen: -1, Fields: map[string]string{
		"": "", "namespace": "", "job": "", "tick": "", "tick_unix_ms": "", "tick_id": "", "fencing_token": "", "attempt": "",
		"replica": "", "Job": "fine", "x": "fine",
	}})
	var fields []string
	for _, err := range err.(interface{ Unwrap() []error }).Unwrap() {
		var inner []error
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			inner = joined.Unwrap()
		} else {
			inner = []error{err}
		}
		for _, err := range inner {
			fault, ok := errors.AsType[*jobs.Fault](err)
			require.True(t, ok, "%v", err)
			fields = append(fields, fault.Field)
		}
	}
	require.Equal(t, []string{
		"redis_stream.stream", "redis_stream.maxlen", "redis_stream.fields", "redis_stream.fields.attempt",
		"redis_stream.fields.fencing_token", "redis_stream.fields.job", "redis_stream.fields.namespace",
		"redis_stream.fields.replica", "redis_stream.fields.tick", "redis_stream.fields.tick_id",
		"redis_stream.fields.tick_unix_ms", "redis_stream",
	}, fields)

	for _, name := range []string{"a}", "}", "{}", "a{}b", "{}{a}", "a}b{c"} {
		_, err := New(client, Stream{Name: name})
		require.ErrorContains(t, err, "must not hold a } outside of a hash tag", name)
	}
	_, err = New(client, Stream{Name: "s"})
	require.NoError(t, err)
}
