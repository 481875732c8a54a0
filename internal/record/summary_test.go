package record_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/record"
)

func TestSummaryOfBeginningIsThatOfAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &twins{ends: make(map[int64]time.Time), reused: new(record.Record)}
		now := origin
		for i := range rapid.IntRange(1, 60).Draw(t, "rules") {
			now = now.Add(time.Second)
			w.apply(t, now, w.draw(t, i, now))
		}
		want := protocol.Summarize(w.decode(t).View("job", record.At(now)))
		for size := range len(w.data) + 1 {
			got, complete, err := record.Summarize("job", w.data[:size], w.stamp, w.end, record.At(now))
			require.NoError(t, err)
			if complete {
				require.Equal(t, want, got)
			} else {
				require.Less(t, size, len(w.data))
			}
		}
	})
}

func TestBeginningOfCommonRecordSuffices(t *testing.T) {
	now, r := origin, new(record.Record)
	_, err := r.Sync(protocol.Sync{Name: "job", Watermark: 1, Revision: "0123456789ab", Schedule: "Europe/Berlin */5 * * * *"}, record.At(now))
	require.NoError(t, err)
	for i := range 2 * protocol.Remembered {
		now = now.Add(time.Minute)
		c := protocol.Claim{
			Name: "job", Tick: now.UnixMilli(), Holder: "worker-7d9f8b6c5-x2x8k-1a2b3c4d", Request: fmt.Sprint("abcdefghij-", i), TTL: time.Minute,
		}
		a, _ := r.Claim(c, record.At(now))
		require.Equal(t, protocol.Granted, a.Status)
		g := protocol.Grant{Name: "job", Tick: c.Tick, Holder: c.Holder, Request: c.Request, Token: a.Token, Attempt: 1, TTL: c.TTL}
		_, err := r.End(g, protocol.OutcomeSucceeded, record.At(now))
		require.NoError(t, err)
	}
	head := r.Encode(0)[:record.SummarySize]
	_, complete, err := record.Summarize("job", head, 1, func(int64) time.Time { return now }, record.At(now))
	require.NoError(t, err)
	require.True(t, complete)
}
