package lock_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease/memlease"
)

func TestAKeyHasAlwaysTheSameStripe(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p, q := start(t, store, "p"), start(t, store, "q")
		h := acquire(t, p.Striped("account", 16).For("alice"))
		requireHeld(t, q.Striped("account", 16).For("alice"))
		release(t, h)
		// It is written down in clear: programs in other versions and languages must find the same.
		require.Equal(t, "account.7", p.Striped("account", 16).For("alice").Name())
		require.Equal(t, "account.5", p.Striped("account", 16).For("").Name())
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
