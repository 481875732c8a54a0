package protocol_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
)

func lockClaim() protocol.LockClaim {
	return protocol.LockClaim{Name: "job", Holder: "a", Request: "r", TTL: time.Second, Permits: 1, Limit: 3}
}

func TestEveryLockClaimRule(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*protocol.LockClaim)
		says   string // "" when the change is fine
	}{
		"plain":                  {func(*protocol.LockClaim) {}, ""},
		"no name":                {func(c *protocol.LockClaim) { c.Name = "" }, `lock claim name: "" must start with`},
		"faulty holder":          {func(c *protocol.LockClaim) { c.Holder = "a:b" }, `holder: "a:b" must`},
		"no request":             {func(c *protocol.LockClaim) { c.Request = "" }, `request: "" must`},
		"no ttl":                 {func(c *protocol.LockClaim) { c.TTL = 0 }, `ttl: "0s" must be at least 1ms`},
		"no limit":               {func(c *protocol.LockClaim) { c.Limit = 0 }, `limit: "0" must be from 1 to 2147483647`},
		"most":                   {func(c *protocol.LockClaim) { c.Permits, c.Limit = protocol.MaxPermits, protocol.MaxPermits }, ""},
		"too high a limit":       {func(c *protocol.LockClaim) { c.Limit = protocol.MaxPermits + 1 }, `limit: "2147483648" must`},
		"no permits":             {func(c *protocol.LockClaim) { c.Permits = 0 }, `permits: "0" must be from 1 to the limit`},
		"too many permits":       {func(c *protocol.LockClaim) { c.Permits = 4 }, `permits: "4" must be from 1 to the limit`},
		"last turn":              {func(c *protocol.LockClaim) { c.Order = protocol.OrderLargest }, ""},
		"unknown order":          {func(c *protocol.LockClaim) { c.Order = protocol.OrderLargest + 1 }, `order: "3" must be one of`},
		"longest ticket":         {func(c *protocol.LockClaim) { c.WaiterTTL = protocol.MaxWaiterTTL }, ""},
		"too long a ticket":      {func(c *protocol.LockClaim) { c.WaiterTTL = protocol.MaxWaiterTTL + 1 }, `must be from 1ms to 1h, or 0`},
		"too short a waiter ttl": {func(c *protocol.LockClaim) { c.WaiterTTL = time.Millisecond - 1 }, `waiter ttl: "999.999µs" must`},
		"newest token":           {func(c *protocol.LockClaim) { c.Known = protocol.MaxTick - 1 }, ""},
		"too high a token":       {func(c *protocol.LockClaim) { c.Known = protocol.MaxTick }, `known: "9007199254740991" must be`},
	} {
		t.Run(name, func(t *testing.T) {
			c := lockClaim()
			test.change(&c)
			err := c.Validate()
			if test.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.says)
			require.ErrorIs(t, err, protocol.ErrPermanent)
		})
	}
	err := protocol.LockClaim{Order: -1, WaiterTTL: -1, Known: -1}.Validate()
	for _, field := range []string{"name", "holder", "request", "ttl", "limit", "permits", "order", "waiter ttl", "known"} {
		require.ErrorContains(t, err, "lock claim "+field+":")
	}
}

func TestLockGrantNeedsATokenUnlessReleased(t *testing.T) {
	g := lockClaim().Grant(protocol.LockAnswer{Token: 7})
	require.Equal(t, protocol.LockGrant{Name: "job", Holder: "a", Request: "r", Token: 7, TTL: time.Second, Permits: 1, Limit: 3}, g)
	require.NoError(t, g.Validate())
	g.Token = 0
	require.ErrorContains(t, g.Validate(), `lock grant token: "0" must be from 1`)
	require.NoError(t, g.ValidateRelease())
	g.Token = -1
	require.ErrorContains(t, g.ValidateRelease(), "token")
	g.Name, g.Permits = "", 4
	require.ErrorContains(t, g.Validate(), "name")
	require.ErrorContains(t, g.Validate(), "permits")
}

func TestValidLockClaimCostsNoAllocation(t *testing.T) {
	c := lockClaim()
	require.Zero(t, testing.AllocsPerRun(100, func() { _ = c.Validate() }))
}
