package quorum_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	redis.SetLogger(silence{}) // what it says about connections that the tests break
	// Closed or not, a pool that could not dial sleeps out its second before it looks again.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}
