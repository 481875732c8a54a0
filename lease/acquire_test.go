package lease_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
)

func TestAcquireErrors(t *testing.T) {
	for name, test := range map[string]struct {
		before func(t *testing.T, store *faulty)
		change func(c *protocol.Claim)
		is     error
		says   string
	}{
		"held": {
			before: func(t *testing.T, store *faulty) { acquire(t, newRenewer(t, store), byAnother(tickClaim("job"))) },
			is:     lease.ErrHeld,
			says:   `lease: "job" is held by b for another 15s unless renewed`,
		},
		"busy": {
			before: func(t *testing.T, store *faulty) { acquire(t, newRenewer(t, store), byAnother(tickClaim("job"))) },
			change: func(c *protocol.Claim) { c.Tick, c.Overlap = 2000, protocol.OverlapWait },
			is:     lease.ErrHeld,
			says:   "held by b",
		},
		"decided": {
			before: func(t *testing.T, store *faulty) {
				require.NoError(t, acquire(t, newRenewer(t, store), byAnother(tickClaim("job"))).Settle(t.Context(), "succeeded"))
			},
			is:   lease.ErrDecided,
			says: `lease: the tick is decided: "job" at 1000`,
		},
		"skipped": {
			before: func(t *testing.T, store *faulty) { acquire(t, newRenewer(t, store), byAnother(tickClaim("job"))) },
			change: func(c *protocol.Claim) { c.Tick, c.Overlap = 2000, protocol.OverlapSkip },
			is:     lease.ErrDecided,
		},
		"lost": {
			before: func(t *testing.T, store *faulty) {
				c := tickClaim("job")
				c.Takeovers = 0
				acquire(t, newRenewer(t, store), byAnother(c)).Abandon()
				time.Sleep(c.TTL)
			},
			is: lease.ErrDecided,
		},
		"early": {
			change: func(c *protocol.Claim) { c.NotBefore = time.Now().Add(time.Minute) },
			says:   `claim of "job" at 1000 is early: the store's clock says `,
		},
		"late": {
			change: func(c *protocol.Claim) { c.NotAfter = time.Now().Add(-time.Minute) },
			says:   `claim of "job" at 1000 is late: the store's clock says `,
		},
		"failed": {
			before: func(_ *testing.T, store *faulty) { store.onClaim = fails },
			is:     errDown,
		},
		"reply lost": {
			before: func(_ *testing.T, store *faulty) { store.onClaim = losesTheReply },
			is:     context.DeadlineExceeded,
		},
		"faulty": {
			change: func(c *protocol.Claim) { c.Name, c.Holder, c.TTL = "a b", "", 0 },
			says:   `claim name: "a b" must`,
		},
		"unknown is synced": {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := new(faulty)
				if test.before != nil {
					test.before(t, store)
				}
				c := tickClaim("job")
				if test.change != nil {
					test.change(&c)
				}
				k := newRenewer(t, store)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				l, err := k.AcquireAs(ctx, c)
				if test.is == nil && test.says == "" {
					require.NoError(t, err)
					requireHeld(t, l)
					require.Equal(t, "job", l.Name())
					require.Equal(t, int64(1000), l.Tick())
					require.Equal(t, 1, l.Attempt())
					require.Positive(t, l.Token())
					l.Abandon()
					return
				}
				require.Nil(t, l)
				require.Error(t, err)
				if test.is != nil {
					require.ErrorIs(t, err, test.is)
				}
				require.ErrorContains(t, err, test.says)
				require.Zero(t, k.Held())
			})
		})
	}
}

// answering is a store that gives every claim the same answer.
type answering struct {
	faulty
	answer protocol.Answer
	sync   error
}

func (s *answering) Claim(context.Context, protocol.Claim) (protocol.Answer, error) {
	return s.answer, nil
}

func (s *answering) Sync(context.Context, []protocol.Sync) ([]protocol.Record, error) {
	return nil, s.sync
}

func TestAcquireEndsWhateverTheStoreSays(t *testing.T) {
	for says, store := range map[string]*answering{
		`the store forgot "job" at once`: {answer: protocol.Answer{Status: protocol.Unknown}},
		errDown.Error():                  {answer: protocol.Answer{Status: protocol.Unknown}, sync: errDown},
		"unexpected answer none":         {},
		"unexpected answer invalid":      {answer: protocol.Answer{Status: 99}},
	} {
		_, err := lease.NewRenewer(store).AcquireAs(t.Context(), tickClaim("job"))
		require.ErrorContains(t, err, says)
	}
}

func TestHeldErrorSaysWhoAndHowLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(faulty)
		acquire(t, newRenewer(t, store), byAnother(claim("job")))
		time.Sleep(time.Second)
		_, err := lease.NewRenewer(store).AcquireAs(t.Context(), claim("job"))
		held, ok := errors.AsType[*lease.HeldError](err)
		require.True(t, ok)
		require.Equal(t, lease.HeldError{Name: "job", Holder: "b", Remaining: 14 * time.Second}, *held)
	})
}

func TestAcquireSameRequestSameGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faulty{onClaim: first(1, losesTheReply)}
		k := newRenewer(t, store)
		c := tickClaim("job")
		c.Request = protocol.NewRequest()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := k.AcquireAs(ctx, c) // syncs first, so this one is not granted
		require.Error(t, err)
		l := acquire(t, k, c)
		again := acquire(t, k, c)
		require.Equal(t, l.Token(), again.Token())
		require.Equal(t, 1, again.Attempt())

		c.Request = ""
		_, err = k.AcquireAs(t.Context(), c)
		require.ErrorIs(t, err, lease.ErrHeld, "another request of the same holder")
	})
}

func TestGrantWhoseReplyWasLostIsFoundAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(faulty)
		_, err := store.Sync(t.Context(), []protocol.Sync{{Name: "job"}})
		require.NoError(t, err)
		store.onClaim = first(1, losesTheReply)
		k := newRenewer(t, store)
		c := tickClaim("job")
		c.Request = protocol.NewRequest()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = k.AcquireAs(ctx, c)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		l := acquire(t, k, c)
		require.Equal(t, 1, l.Attempt())
		require.Equal(t, time.Now().Add(15*time.Second-lease.Margin(15*time.Second)), l.Deadline(), "it begins again")
	})
}

func TestAcquireWithoutOverlap(t *testing.T) {
	store := new(memlease.Store)
	claim := lease.Claim{Name: "job", Tick: 1000, Holder: "a", TTL: time.Minute, NoOverlap: true}
	first, err := lease.Acquire(t.Context(), store, claim)
	require.NoError(t, err)
	claim.Tick = 2000
	_, err = lease.Acquire(t.Context(), store, claim)
	require.ErrorIs(t, err, lease.ErrHeld)
	require.NoError(t, first.Settle(t.Context(), lease.OutcomeSucceeded))
	second, err := lease.Acquire(t.Context(), store, claim)
	require.NoError(t, err)
	claim.Tick, claim.NoOverlap = 3000, false
	beside, err := lease.Acquire(t.Context(), store, claim)
	require.NoError(t, err)
	require.NoError(t, second.Release(t.Context()))
	require.NoError(t, beside.Release(t.Context()))
}
