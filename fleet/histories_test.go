package fleet_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
)

func TestHistoriesSayHowFarBackTheyGo(t *testing.T) {
	inWorld(t, func(w world) {
		begin := time.Now().UTC()
		w.contended("report", "quiet")
		_, err := w.store.Sync(w.Context(), []protocol.Sync{{Name: "quiet", Watermark: begin.UnixMilli(), Revision: "a", Schedule: "UTC 0 2 * * *"}})
		require.NoError(w, err)
		for range 3 {
			time.Sleep(time.Minute)
			w.settle(w.claim("report", time.Now().UnixMilli(), "r1"), "succeeded", wire.Note{})
		}
		by, err := w.fleet.Histories(w.Context(), []string{"report", "quiet", "nobody-knows-it"})
		require.NoError(w, err)
		require.Equal(w, w.history("report", 0), by["report"].Entries)
		require.Equal(w, begin.Add(time.Minute), by["report"].Since, "the oldest outcome")
		require.Equal(w, begin.Add(3*time.Minute), by["report"].Watermark)
		require.Equal(w, begin, by["quiet"].Since, "the watermark")
		require.Equal(w, "UTC 0 2 * * *", by["quiet"].Schedule)
		require.Equal(w, begin, by["quiet"].Revised.UTC())
		require.Equal(w, fleet.JobHistory{Entries: []fleet.Entry{}, Facts: []fleet.Fact{}}, by["nobody-knows-it"])
	})
}

func TestDescribeHasTheJournalOfTheJob(t *testing.T) {
	inWorld(t, func(w world) {
		w.contended("report")
		time.Sleep(time.Minute)
		_, err := w.fleet.Trigger(w.Context(), "report", fleet.TriggerOptions{By: "ann"})
		require.NoError(w, err)
		d, err := w.fleet.Describe(w.Context(), "report", nil, 1, 1)
		require.NoError(w, err)
		require.Len(w, d.Facts, 1)
		require.Equal(w, "ann", d.Facts[0].By)
	})
}
