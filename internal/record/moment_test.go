package record_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/record"
)

var origin = time.Date(2026, 3, 29, 12, 0, 0, 0, time.UTC)

// history makes the record that some claims and ends lead to, the same one for the same seed.
func history(seed uint64) *record.Record {
	random := rand.New(rand.NewPCG(seed, 1))
	r := new(record.Record)
	_, _ = r.Sync(protocol.Sync{Name: "job", Watermark: 1}, record.At(origin))
	now := origin
	for i := range random.IntN(8) {
		now = now.Add(time.Duration(random.IntN(3000)) * time.Millisecond)
		a, _ := r.Claim(protocol.Claim{
			Name: "job", Tick: int64(2 + i), Holder: "a", Request: "r", TTL: time.Duration(1+random.IntN(5000)) * time.Millisecond,
			Overlap: protocol.Overlap(random.IntN(5)), Takeovers: random.IntN(2),
		}, record.At(now))
		if a.Status == protocol.Granted && random.IntN(2) == 0 {
			g := protocol.Grant{Name: "job", Tick: int64(2 + i), Holder: "a", Request: "r", Token: a.Token, Attempt: 1, TTL: time.Second}
			_, _ = r.End(g, "succeeded", record.At(now))
		}
	}
	return r
}

// Whenever the store's time is within the bounds and the leases assumed to have ended have, a claim
// has the same answer, but for durations counted from the time.
func TestClaimHoldsWithinItsMoment(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64Range(0, 1000).Draw(t, "seed")
		ms := func(what string) time.Time {
			return origin.Add(time.Duration(rapid.IntRange(0, 12_000).Draw(t, what)) * time.Millisecond)
		}
		c := protocol.Claim{
			Name: "job", Tick: rapid.Int64Range(1, 14).Draw(t, "tick"), Holder: "b", Request: "q", TTL: time.Second,
			Overlap: protocol.Overlap(rapid.IntRange(0, 4).Draw(t, "overlap")), Takeovers: 1,
			OnlyOpen: rapid.Bool().Draw(t, "only open"),
		}
		if rapid.Bool().Draw(t, "takeovers bounded") {
			c.TakeoverUntil = ms("takeover until")
		}
		if rapid.Bool().Draw(t, "bounded") {
			c.NotBefore, c.NotAfter, c.Until = ms("not before"), ms("not after"), ms("until")
		}
		first := record.At(ms("now"))
		r := history(seed)
		ends := map[int64]time.Time{}
		for _, e := range r.Open {
			ends[e.Token] = e.Ends
		}
		want, _ := r.Claim(c, first)
		notBefore, notAfter := first.Bounds()

		others := []time.Time{notBefore, notAfter}
		for i := range 60 {
			others = append(others, origin.Add(time.Duration(i)*500*time.Millisecond))
		}
	times:
		for _, later := range others {
			if later.IsZero() || later.Before(notBefore) || !notAfter.IsZero() && later.After(notAfter) {
				continue
			}
			for _, token := range first.Ended() {
				if ends[token].After(later) {
					continue times // which the store notices
				}
			}
			got, _ := history(seed).Claim(c, record.At(later))
			require.Equal(t, timeless(want), timeless(got), "at %s, within %s and %s", later, notBefore, notAfter)
		}
	})
}

func timeless(a protocol.Answer) protocol.Answer {
	a.Now, a.Remaining, a.Token = time.Time{}, 0, 0
	for i := range a.Open {
		a.Open[i].Remaining = 0
	}
	for i := range a.Settled {
		a.Settled[i].At = time.Time{}
	}
	return a
}

func TestMomentOfGrantKnowsItsLeastToken(t *testing.T) {
	r := new(record.Record)
	r.Token = origin.Add(time.Hour).UnixMicro()
	at := record.At(origin)
	a, _ := r.Claim(protocol.Claim{Name: "job", Holder: "a", Request: "r", TTL: time.Second}, at)
	token, least := at.Granted()
	require.Equal(t, a.Token, token)
	require.Equal(t, origin.Add(time.Hour).UnixMicro()+1, least)
}
