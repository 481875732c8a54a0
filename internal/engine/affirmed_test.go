package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/engine"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/driver"
)

// writes counts the changes that a memory makes.
type writes struct {
	*driver.Memory
	made int
}

func (w *writes) Do(ctx context.Context, ops []driver.Op) []driver.Result {
	results := w.Memory.Do(ctx, ops)
	for i, res := range results {
		if ops[i].Change != nil && res.Status == driver.Done {
			w.made++
		}
	}
	return results
}

// A process that has read what it was not answered asks again.
func TestRepeatedRequestsWriteBeforeTheyAffirm(t *testing.T) {
	m := &writes{Memory: new(driver.Memory)}
	s, err := engine.NewSession(m, "fleet", engine.Options{})
	require.NoError(t, err)
	_, err = s.Sync(t.Context(), []protocol.Sync{{Name: "job", Watermark: 99}, {Name: "skipped", Watermark: 99}})
	require.NoError(t, err)
	ctx, tick := t.Context(), claim(100, "a")
	token := int64(0)
	for _, c := range []struct {
		what string
		ask  func() error
	}{
		{"claim", func() error {
			a, err := s.Claim(ctx, tick)
			require.Equal(t, protocol.Granted, a.Status)
			require.True(t, token == 0 || token == a.Token, "the same grant")
			token = a.Token
			return err
		}},
		{"settle", func() error {
			return s.Settle(ctx, protocol.Grant{Name: "job", Tick: 100, Holder: "a", Request: "r-a", Token: token, Attempt: 1, Takeovers: 1, TTL: time.Minute}, "succeeded")
		}},
		{"trigger", func() error {
			_, err := s.Trigger(ctx, protocol.Trigger{Name: "job", By: "ops", Request: "t", Key: "deploy", Window: time.Hour})
			return err
		}},
		{"skip", func() error {
			_, passed, err := s.Skip(ctx, protocol.Skip{Name: "skipped", From: 99, To: 199, Holder: "a", Request: "s", Outcome: "skipped"})
			require.True(t, passed)
			return err
		}},
		{"pause", func() error {
			_, err := s.Pause(ctx, "job", protocol.Pause{By: "ops", Reason: "the index moves"})
			return err
		}},
		{"lock", func() error {
			a, err := s.ClaimLock(ctx, protocol.LockClaim{Name: "lock", Holder: "a", Request: "l", TTL: time.Minute, Permits: 1, Limit: 1})
			require.Equal(t, protocol.Granted, a.Status)
			return err
		}},
	} {
		for range 2 {
			before := m.made
			require.NoError(t, c.ask(), c.what)
			require.Equal(t, before+1, m.made, c.what)
		}
	}
	a, err := s.Claim(ctx, claim(100, "b"))
	require.NoError(t, err)
	require.Equal(t, protocol.Decided, a.Status)
	before := m.made
	_, err = s.Claim(ctx, claim(100, "b"))
	require.NoError(t, err)
	require.Equal(t, before, m.made, "what grants nothing writes nothing")
}
