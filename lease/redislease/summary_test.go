package redislease_test

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/redislease"
)

func TestSummaryReadsBeginningOfValueOnly(t *testing.T) {
	srv := redistest.Start(t)
	s, admin := open(t, srv.Addr()), srv.Client(t)
	names := make([]string, 64)
	for i := range names {
		names[i] = fmt.Sprint("job", i)
		_, err := s.Sync(t.Context(), []protocol.Sync{{Name: names[i], Watermark: 1, Revision: "0123456789ab", Schedule: "Europe/Berlin */5 * * * *"}})
		require.NoError(t, err)
		for from := range int64(protocol.Remembered) {
			p := protocol.Skip{Name: names[i], From: from + 1, To: from + 2, Outcome: "missed", Request: "a-request", Holder: fmt.Sprint("replica-", from)}
			_, _, err := s.Skip(t.Context(), p)
			require.NoError(t, err)
		}
	}
	value := admin.HGet(t.Context(), redislease.Key("default", names[0]), "d").Val()
	require.Greater(t, len(value), 400)
	before := sentBy(t, admin)
	_, err := s.Summarize(t.Context(), names)
	require.NoError(t, err)
	require.Less(t, sentBy(t, admin)-before, 64*(136+40)+4000, "4000 is what INFO answers")
}

// sentBy is how many bytes a server has sent.
func sentBy(t *testing.T, c *redis.Client) int {
	found := regexp.MustCompile(`total_net_output_bytes:(\d+)`).FindStringSubmatch(c.Info(t.Context(), "stats").Val())
	n, err := strconv.Atoi(found[1])
	require.NoError(t, err)
	return n
}
