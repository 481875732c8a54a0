package protocol_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
)

func TestEveryClaimRule(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*protocol.Claim)
		says   string // "" when the change is fine
	}{
		"plain":                  {func(*protocol.Claim) {}, ""},
		"no name":                {func(c *protocol.Claim) { c.Name = "" }, `claim name: "" must start with`},
		"name with a space":      {func(c *protocol.Claim) { c.Name = "a b" }, `name: "a b" must start with`},
		"name with a dot first":  {func(c *protocol.Claim) { c.Name = ".a" }, `name: ".a" must start with`},
		"name with all there is": {func(c *protocol.Claim) { c.Name = "aZ09._-" }, ""},
		"name at its limit":      {func(c *protocol.Claim) { c.Name = strings.Repeat("a", 128) }, ""},
		"name past it":           {func(c *protocol.Claim) { c.Name = strings.Repeat("a", 129) }, "at most 128"},
		"name beyond ASCII":      {func(c *protocol.Claim) { c.Name = "é" }, `name: "é" must start with`},
		"no holder":              {func(c *protocol.Claim) { c.Holder = "" }, `holder: "" must start with`},
		"no request":             {func(c *protocol.Claim) { c.Request = "" }, `request: "" must start with`},
		"greatest tick":          {func(c *protocol.Claim) { c.Tick = 1<<53 - 1 }, ""},
		"tick past it":           {func(c *protocol.Claim) { c.Tick = 1 << 53 }, `tick: "9007199254740992" must be from 0 to 2^53-1`},
		"negative tick":          {func(c *protocol.Claim) { c.Tick = -1 }, `tick: "-1"`},
		"shortest term":          {func(c *protocol.Claim) { c.TTL = time.Millisecond }, ""},
		"ttl too short":          {func(c *protocol.Claim) { c.TTL = time.Millisecond - 1 }, `ttl: "999.999µs" must be at least 1ms`},
		"takeovers":              {func(c *protocol.Claim) { c.Takeovers = -1 }, `takeovers: "-1" must be at least 0`},
		"overlap below":          {func(c *protocol.Claim) { c.Overlap = -1 }, `overlap: "-1" must be one of`},
		"overlap above":          {func(c *protocol.Claim) { c.Overlap = protocol.OverlapReplace + 1 }, `overlap: "5" must be one of`},
		"last overlap":           {func(c *protocol.Claim) { c.Overlap = protocol.OverlapReplace }, ""},
		"negative known":         {func(c *protocol.Claim) { c.Known = -1 }, `known: "-1"`},
		"known past the limit":   {func(c *protocol.Claim) { c.Known = 1 << 53 }, `known: "9007199254740992"`},
	} {
		t.Run(name, func(t *testing.T) {
			c := protocol.Claim{Name: "job", Holder: "a", Request: "r", TTL: time.Second}
			test.change(&c)
			err := c.Validate()
			if test.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.says)
			require.Len(t, err.(interface{ Unwrap() []error }).Unwrap(), 1)
		})
	}
}

func TestEveryFaultOfAClaimIsReported(t *testing.T) {
	err := protocol.Claim{Tick: -1, Takeovers: -1, Overlap: -1, Known: -1}.Validate()
	require.Len(t, err.(interface{ Unwrap() []error }).Unwrap(), 8)
}

func TestValidClaimCostsNoAllocation(t *testing.T) {
	c := protocol.Claim{Name: "job", Holder: "a", Request: "r", TTL: time.Second}
	require.Zero(t, testing.AllocsPerRun(100, func() { _ = c.Validate() }))
}

func TestStatusesHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for s := protocol.Status(0); s <= protocol.OutOfBounds; s++ {
		require.NotEqual(t, "invalid", s.String())
		require.False(t, seen[s.String()])
		seen[s.String()] = true
	}
	require.Equal(t, "invalid", protocol.Status(-1).String())
	require.Equal(t, "invalid", (protocol.OutOfBounds + 1).String())
}

func TestRequestsDifferFromThoseOfAnEarlierProcess(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		r := protocol.NewRequest()
		require.True(t, protocol.ValidName(r), r)
		require.False(t, seen[r])
		seen[r] = true
		require.Greater(t, len(r), 8, "%s: no part of it is random", r)
	}
}
