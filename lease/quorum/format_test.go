package quorum_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/quorumnode"
	"github.com/solotick/solotick/lease/quorum"
)

// What another release has written is neither read nor written over.
func TestOtherFormatIsRefused(t *testing.T) {
	for name, value := range map[string]string{
		"former": "1795334455314891000 3 000000000001aa 17 3fx:1795334455314891000\n{\"Known\":true}",
		"later":  `{"format":3,"written":"2027-01-01T00:00:00Z"}` + "\n{}",
		"none":   "something",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				list := newFakeNodes(3)
				s := openFake(t, list, quorum.WithTTL(time.Minute))
				_, _, err := s.Time(t.Context())
				require.NoError(t, err)
				for _, n := range list {
					n.carryOut([]quorumnode.Op{{Key: "job", Ballot: "000000000001aa", Accept: true, Value: value}})
				}

				_, err = s.Claim(t.Context(), claimOf("job", 100, "a", time.Second))
				require.ErrorIs(t, err, quorum.ErrFormat)
				require.ErrorIs(t, err, protocol.ErrPermanent)
				require.ErrorContains(t, err, "use another namespace, or stop all replicas and delete")
				require.Contains(t, s.Hint(err), "use another namespace")
				_, err = s.Sync(t.Context(), []protocol.Sync{{Name: "job"}})
				require.ErrorIs(t, err, quorum.ErrFormat)
				_, err = s.Inspect(t.Context(), "job")
				require.ErrorIs(t, err, quorum.ErrFormat)
				settle()
				for _, n := range list {
					require.Equal(t, value, n.carryOut([]quorumnode.Op{{Key: "job"}}).Replies[0].Value)
				}
			})
		})
	}
}
