package lock_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lock"
)

func TestAKeyHasAlwaysTheSameStripe(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p, q := start(t, store, "p"), start(t, store, "q")
		h := acquire(t, p.Striped("account", 16).For("alice"))
		requireHeld(t, q.Striped("account", 16).For("alice"))
		release(t, h)
		// It is written down in clear: programs in other versions and languages must find the same.
		require.Equal(t, "account.4", p.Striped("account", 16).For("alice").Name())
		require.Equal(t, "account.6", p.Striped("account", 16).For("").Name())
		require.Equal(t, "account.0", p.Striped("account", 0).For("alice").Name())
	})
}

func TestKeysSpreadOverTheStripes(t *testing.T) {
	const stripes, keys = 16, 16_000
	p := start(t, new(memlease.Store), "p")
	of := map[string]int{}
	l := p.Striped("account", stripes)
	for i := range keys {
		of[l.For(fmt.Sprintf("user-%d", i)).Name()]++
	}
	require.Len(t, of, stripes)
	for name, n := range of {
		require.InDelta(t, keys/stripes, n, keys/stripes/5, name)
	}
}

func TestKeysThatSayAThingTwiceSpread(t *testing.T) {
	const stripes, keys = 128, 100_000
	p := start(t, new(memlease.Store), "p")
	of := map[string]int{}
	l := p.Striped("account", stripes)
	for i := range keys {
		of[l.For(fmt.Sprintf("%d/%d", i, i)).Name()]++
	}
	require.Len(t, of, stripes)
	for name, n := range of {
		require.InDelta(t, keys/stripes, n, keys/stripes/4, name)
	}
}

func TestKeysOfOneStripeAreHeldTogether(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p := start(t, store, "p")
		l := p.Striped("account", 1)
		m := p.Multi(l.For("alice"), p.Mutex("other"), l.For("bob"))
		for _, how := range []func(context.Context) (*lock.MultiHold, error){m.Acquire, m.TryAcquire} {
			h, err := how(t.Context())
			require.NoError(t, err)
			require.Len(t, h.Holds(), 3)
			require.Equal(t, "other", h.Holds()[1].Name())
			require.Equal(t, h.Holds()[0].Token(), h.Holds()[2].Token())
			require.NoError(t, h.Release(t.Context()))
			requireFree(t, store, "account.0")
		}
	})
}
