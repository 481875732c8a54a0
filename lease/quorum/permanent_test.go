package quorum_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/quorum"
	"github.com/solotick/solotick/lock"
)

func TestQuorumFailsForGoodWithoutMajorityOnly(t *testing.T) {
	refused := func(node string) error { return protocol.Permanent(errors.New(node + ": NOPERM")) }
	for name, c := range map[string]struct {
		nodes  int
		causes []error
		want   bool
	}{
		"one of three, another is down": {3, []error{refused("a"), errDown}, false},
		"two of three":                  {3, []error{refused("a"), refused("b")}, true},
		"two of five":                   {5, []error{refused("a"), refused("b"), errDown}, false},
		"none":                          {3, []error{errDown, errDown}, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := error(&quorum.MajorityError{Nodes: c.nodes, Needed: c.nodes/2 + 1, Causes: c.causes})
			require.Equal(t, c.want, errors.Is(err, protocol.ErrPermanent))
			for _, cause := range c.causes {
				require.ErrorContains(t, err, cause.Error())
			}
		})
	}
}

func TestLockBeyondLongestTTLIsRefused(t *testing.T) {
	locks := lock.New(openFake(t, newFakeNodes(3), quorum.WithTTL(time.Second)))
	defer locks.Close()
	_, err := locks.Mutex("stock").Acquire(t.Context())
	require.ErrorIs(t, err, protocol.ErrPermanent)
	require.ErrorContains(t, err, "must be at most 1s")
}
