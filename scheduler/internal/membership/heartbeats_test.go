package membership

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/heartbeat"
	"github.com/solotick/solotick/internal/protocol"
)

func TestHeartbeatsForgetJobSetsOfThePast(t *testing.T) {
	var h Heartbeats
	for i := range 100 {
		revision := fmt.Sprintf("%012d", i)
		members := []protocol.Member{
			{Holder: "edited", Info: heartbeat.Replica{ID: "edited", Jobs: map[string]string{"report": revision}}.Encode()},
			{Holder: "same", Info: heartbeat.Replica{ID: "same", Running: i, Jobs: map[string]string{"report": "0123456789ab"}}.Encode()},
		}
		list, unread, _ := h.Live(members)
		require.Zero(t, unread)
		require.Len(t, list, 2)
		require.Equal(t, revision, list[0].Jobs["report"])
		require.Equal(t, "0123456789ab", list[1].Jobs["report"])
		require.LessOrEqual(t, len(h.sets), 2*len(members))
	}
}
