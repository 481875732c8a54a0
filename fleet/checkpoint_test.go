package fleet_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
)

func TestOpenTickShowsHowFarItHasCome(t *testing.T) {
	inWorld(t, func(w world) {
		w.contended("report")
		time.Sleep(time.Minute)
		now := time.Now()
		g := w.claim("report", now.UnixMilli(), "r1")
		require.Nil(t, w.history("report", 1)[0].Checkpoint)
		c := protocol.Checkpoint{
			Name: g.Name, Tick: g.Tick, Token: g.Token, Data: []byte("secret"), Percent: 40, Text: "page 7", Revision: "r", Remaining: time.Minute,
		}
		require.NoError(t, w.store.Checkpoint(t.Context(), []protocol.Checkpoint{c})[0])
		want := &fleet.Checkpoint{At: now.UTC(), Percent: 40, Text: "page 7", Position: 6, Revision: "r"}
		require.Equal(t, want, w.history("report", 1)[0].Checkpoint)
		d, err := w.fleet.Describe(t.Context(), "report", nil, 1, 1)
		require.NoError(t, err)
		require.Equal(t, want, d.Open[0].Checkpoint)
		text, err := fleet.Marshal(d)
		require.NoError(t, err)
		require.NotContains(t, string(text), "secret")
		w.settle(g, "failed", wire.Note{})
		require.Nil(t, w.history("report", 1)[0].Checkpoint)
	})
}
