package console_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
)

func TestJobPageShowsHowFarARunHasCome(t *testing.T) {
	s := newSite(t)
	now := time.Now().UnixMilli()
	a, err := s.store.Claim(t.Context(), protocol.Claim{Name: "report", Tick: now, Holder: "r1", Request: "x", TTL: time.Minute})
	require.NoError(t, err)
	require.Equal(t, protocol.Granted, a.Status)
	c := protocol.Checkpoint{
		Name: "report", Tick: now, Token: a.Token, Data: []byte("hidden"), Percent: 40, Text: "page <7>", Remaining: time.Minute,
	}
	require.NoError(t, s.store.Checkpoint(t.Context(), []protocol.Checkpoint{c})[0])
	page := text(t, s.get("/jobs/report", header("Accept", "text/html")))
	require.Contains(t, page, `<progress max="100" value="40"></progress> 40 % page &lt;7&gt;`)
	require.NotContains(t, page, "hidden</")
	require.Contains(t, text(t, s.get("/api/v1/jobs/report")), `"percent":40,"text":"page <7>","position_bytes":6`)
}
