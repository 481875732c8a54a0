package quorum_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
)

// Each of several processes holds a tick of one job, while another one claims and settles further
// ticks of it a hundred times a second: a renewal takes no part in versions, so that nobody loses a
// lease or has to give up.
func TestRenewalsSucceedWhileTheRecordChanges(t *testing.T) {
	const ttl = 3 * time.Second
	synctest.Test(t, func(t *testing.T) {
		list := newFakeNodes(3)
		for _, n := range list {
			n.fault = func() fault { return fault{before: 300 * time.Microsecond, after: 300 * time.Microsecond} }
		}
		changing := openFake(t, list)
		synced(t, changing, "job")
		beside := func(tick int64, holder string) protocol.Claim {
			c := claimOf("job", tick, holder, ttl)
			c.Overlap = protocol.OverlapAllow
			return c
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		var holding sync.WaitGroup
		for i := range 5 {
			s := openFake(t, list)
			c := beside(int64(1+i), fmt.Sprint("holder-", i))
			g := grantOf(c, claimed(t, changing, protocol.Granted, c))
			holding.Go(func() {
				for ctx.Err() == nil {
					if err := s.Renew(context.Background(), []protocol.Grant{g})[0]; err != nil {
						t.Error(err)
					}
					time.Sleep(100 * time.Millisecond)
				}
			})
		}
		changes := 0
		for tick := int64(100); ctx.Err() == nil; tick++ {
			c := beside(tick, "busy")
			g := grantOf(c, claimed(t, changing, protocol.Granted, c))
			require.NoError(t, changing.Settle(t.Context(), g, "succeeded"))
			changes += 2
			time.Sleep(10 * time.Millisecond)
		}
		holding.Wait()
		require.Greater(t, changes, 400)
		v, err := changing.Inspect(t.Context(), "job")
		require.NoError(t, err)
		require.Len(t, v.Open, 5)
	})
}
