package scheduler_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/scheduler"
)

func TestIdleReplicaSendsSixCommandsInTenSeconds(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1h", takes(0))
		var replicas []*replica
		for _, id := range []string{"a", "b", "c"} {
			replicas = append(replicas, f.start(id, scheduler.WithTTL(15*time.Second)))
		}
		f.sleepTo(time.Minute)
		var calls atomic.Int32
		for _, r := range replicas {
			r.link.set(func(c call) fault {
				calls.Add(1)
				return fault{}
			})
		}
		f.sleepTo(11 * time.Minute)
		require.LessOrEqual(t, calls.Load(), int32(3*60*6+3), "by three replicas in ten minutes")
		require.GreaterOrEqual(t, calls.Load(), int32(3*60*5), "the store's clock is looked at every two seconds")
	})
}
