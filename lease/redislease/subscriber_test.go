package redislease

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// An answer belongs to the order that was sent first, whatever arrives in between; any other answer
// is a fault.
func TestSubscriberMatchesEachAnswer(t *testing.T) {
	a, b := &channel{channel: "a"}, &channel{channel: "b"}
	confirms := func(kind, channel string) *redis.Subscription {
		return &redis.Subscription{Kind: kind, Channel: channel}
	}
	e := &subscriber{node: redis.NewClient(&redis.Options{Addr: "here:1"}), some: make(chan struct{}, 1)}
	t.Cleanup(func() { require.NoError(t, e.node.Close()) })
	sends := func(o order) {
		e.add(o)
		sent, ok := e.nextToSend()
		require.True(t, ok)
		require.Equal(t, o, sent)
	}
	receives := func(want *event, m any, err error) {
		t.Helper()
		got, err := e.received(m, err)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	fails := func(m any, err error) {
		t.Helper()
		_, err = e.received(m, err)
		require.Error(t, err)
	}
	sends(order{c: a})
	sends(order{c: b})
	sends(order{c: a, leave: true})
	receives(&event{kind: notified, channel: "a", payload: "r"}, &redis.Message{Channel: "a", Payload: "r"}, nil)
	receives(&event{kind: moved, channel: "a"}, confirms("sunsubscribe", "a"), nil) // before the answer to the order
	receives(nil, &redis.Pong{}, nil)
	receives(&event{kind: refused, c: a, err: redisError("MOVED 1 there:1")}, nil, redisError("MOVED 1 there:1"))
	fails(confirms("ssubscribe", "a"), nil)
	receives(&event{kind: subscribed, c: b}, confirms("ssubscribe", "b"), nil)
	receives(nil, confirms("sunsubscribe", "a"), nil)
	fails(confirms("ssubscribe", "a"), nil)
	fails(nil, redisError("NOPERM"))
	sends(order{c: a, leave: true})
	receives(nil, nil, redisError("MOVED 1 there:1"))
	sends(order{c: a})
	fails(nil, redisError("MOVED 1 here:1")) // go-redis closes the connection then
}

type redisError string

func (e redisError) Error() string { return string(e) }
func (redisError) RedisError()     {}
