package engine_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/engine"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/record"
	"github.com/solotick/solotick/lease/driver"
)

// requireDecodedAfresh requires each record that s keeps decoded to be what its value is decoded
// to.
func requireDecodedAfresh(t *testing.T, s *engine.Session) (kept int) {
	t.Helper()
	noLease := func(int64) time.Time { return time.Time{} }
	for _, d := range s.Decodings() {
		fresh := new(record.Record)
		require.NoError(t, fresh.Decode(d.Key, d.Value.Data, d.Value.Version.Stamp, noLease))
		reused := *d.Record
		reused.Open = append([]record.Entry(nil), reused.Open...)
		reused.SetEnds(noLease)
		require.Equal(t, fresh, &reused)
		kept++
	}
	return kept
}

// Two replicas change two jobs in random order; the store goes back to a snapshot now and then.
func TestKeptDecodingsEqualFreshOnes(t *testing.T) {
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			m := new(driver.Memory)
			replicas := []*engine.Session{replica(t, m), replica(t, m)}
			restore := m.Snapshot()
			var grants []protocol.Grant
			kept := 0
			for range 250 {
				time.Sleep(time.Duration(random.IntN(2000)) * time.Millisecond)
				s := replicas[random.IntN(2)]
				if random.IntN(4) == 0 {
					m.Step(time.Second) // so that the stamps of grants are not those that s guesses
				}
				if random.IntN(40) == 0 {
					restore()
				} else if random.IntN(20) == 0 {
					restore = m.Snapshot()
				}
				grants = change(t, s, random, grants)
				for _, s := range replicas {
					kept += requireDecodedAfresh(t, s)
				}
			}
			require.Greater(t, kept, 30, "decodings that were compared")
		})
	}
}

// change has s change a job in a random way. It returns the grants that it knows of now.
func change(t *testing.T, s *engine.Session, random *rand.Rand, grants []protocol.Grant) []protocol.Grant {
	t.Helper()
	ctx, name := t.Context(), fmt.Sprint("job", random.IntN(2))
	g := protocol.Grant{Name: name, Tick: 7, Holder: "a", Request: "r", Token: 1, Attempt: 1, TTL: time.Second}
	if len(grants) > 0 {
		g = grants[random.IntN(len(grants))]
	}
	switch random.IntN(12) {
	case 0, 1:
		_, err := s.Sync(ctx, []protocol.Sync{{Name: name, Watermark: 5, Revision: fmt.Sprint(random.IntN(3)), Schedule: "@daily"}})
		require.NoError(t, err)
	case 2, 3, 4, 5:
		c := protocol.Claim{
			Name: name, Tick: int64(len(grants) + 6 - random.IntN(2)), Holder: "a", Request: "r", TTL: time.Minute,
			Overlap: protocol.Overlap(random.IntN(5)), Takeovers: 1,
		}
		a, err := s.Claim(ctx, c)
		require.NoError(t, err)
		if a.Status == protocol.Granted {
			grants = append(grants, protocol.Grant{
				Name: name, Tick: c.Tick, Holder: "a", Request: "r", Token: a.Token, Attempt: a.Attempt, Takeovers: 1, TTL: c.TTL,
			})
		}
	case 6, 7, 8: // whether they are answered by an error is for others to test
		_ = s.Settle(ctx, g, protocol.OutcomeSucceeded)
	case 9:
		_ = s.Release(ctx, g)
	case 10:
		g.TTL += time.Duration(random.IntN(2)) * time.Second
		_ = s.Renew(ctx, []protocol.Grant{g})
	case 11:
		_, _ = s.Repair(ctx, protocol.Repair{Name: name})
	}
	return grants
}

func TestDecodingIsNotReusedForAnotherValue(t *testing.T) {
	for what, other := range map[string]func(v *driver.Value){
		"stamp": func(v *driver.Value) { v.Version.Stamp++ },
		"id":    func(v *driver.Value) { v.Version.ID += "x" },
		"bytes": func(v *driver.Value) { v.Data = append([]byte{0}, v.Data...) },
	} {
		s := replica(t, new(driver.Memory))
		_, err := s.Sync(t.Context(), []protocol.Sync{{Name: "job", Watermark: 99}})
		require.NoError(t, err)
		_, err = s.Claim(t.Context(), claim(100, "a"))
		require.NoError(t, err)
		kept := s.Decodings()
		require.Len(t, kept, 1)
		v := kept[0].Value
		other(&v)
		require.False(t, s.TakesDecoding("job", v), what)

		_, err = s.Sync(t.Context(), []protocol.Sync{{Name: "job", Revision: "next"}})
		require.NoError(t, err)
		require.True(t, s.TakesDecoding("job", s.Decodings()[0].Value), what)
	}
}

func TestRecordsOnlyReadAreNotKeptDecoded(t *testing.T) {
	s := replica(t, new(driver.Memory))
	for i := range 100 {
		_, err := s.Sync(t.Context(), []protocol.Sync{{Name: fmt.Sprint("job", i), Watermark: 5, Revision: "1", Schedule: "@daily"}})
		require.NoError(t, err)
	}
	require.Empty(t, s.Decodings())
	a, err := s.Claim(t.Context(), protocol.Claim{Name: "job7", Tick: 100, Holder: "a", Request: "r", TTL: time.Minute})
	require.NoError(t, err)
	require.Equal(t, protocol.Granted, a.Status)
	require.Len(t, s.Decodings(), 1)
	g := protocol.Grant{Name: "job7", Tick: 100, Holder: "a", Request: "r", Token: a.Token, Attempt: 1, TTL: time.Minute}
	require.NoError(t, s.Settle(t.Context(), g, "succeeded"))
	require.Len(t, s.Decodings(), 1, "its next tick is claimed from it")
}
