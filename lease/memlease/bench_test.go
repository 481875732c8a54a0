package memlease_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/memlease"
)

// BenchmarkClaimSettle takes one tick after another of a job, and settles each.
func BenchmarkClaimSettle(b *testing.B) {
	s := new(memlease.Store)
	_, err := s.Sync(b.Context(), []protocol.Sync{{Name: "job", Watermark: 1, Revision: "r1"}})
	require.NoError(b, err)
	b.ReportAllocs()
	tick := int64(1)
	for b.Loop() {
		tick++
		a, err := s.Claim(b.Context(), protocol.Claim{
			Name: "job", Tick: tick, Holder: "replica-1", Request: "request-1", TTL: time.Minute, Takeovers: 1,
		})
		if err != nil || a.Status != protocol.Granted {
			b.Fatal(a, err)
		}
		g := protocol.Grant{
			Name: "job", Tick: tick, Holder: "replica-1", Request: "request-1", Token: a.Token,
			Attempt: 1, Takeovers: 1, TTL: time.Minute,
		}
		if err := s.Settle(b.Context(), g, "succeeded"); err != nil {
			b.Fatal(err)
		}
	}
}
