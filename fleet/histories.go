package fleet

import (
	"context"
	"time"

	"github.com/solotick/solotick/internal/wire"
)

// JobHistory holds one job's ticks, as far as the store keeps them.
type JobHistory struct {
	Entries   []Entry   // as [Fleet.History] has them: open ones first, then settled ones, each newest tick first
	Facts     []Fact    // as [Fleet.Facts] has them, newest first; none where the store keeps no journal
	Watermark time.Time // every tick up to it is settled or open; zero when the store has no record
	Since     time.Time // nothing is known of ticks before it; zero when the store has no record
	Schedule  string    // in force by the record: the zone, a space and the schedule; "" when it does not say
	Revised   time.Time // when the definition in force was brought first
}

// Histories returns the histories of several jobs, by their names, with as many outcomes as the
// store keeps. It reads them all: ask for the jobs of a page, not for those of a fleet.
func (f *Fleet) Histories(ctx context.Context, names []string) (map[string]JobHistory, error) {
	now, _, err := f.store.Time(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]JobHistory, len(names))
	err = together(ctx, len(names), func(ctx context.Context, i int) error {
		r, err := f.inspect(ctx, names[i])
		if err != nil {
			return err
		}
		h := &list[i]
		if h.Facts, err = f.Facts(ctx, names[i]); err != nil {
			return err
		}
		h.Entries, h.Watermark, h.Revised = f.history(r, h.Facts, now), wire.FromMilli(r.Watermark), r.Revised
		if n := len(r.Schedules); n > 0 {
			h.Schedule = r.Schedules[n-1].Text
		}
		h.Since = h.Watermark
		for _, e := range h.Entries {
			at := e.Moment()
			if e.IsRange() {
				at = e.From
			}
			if e.State == wire.StateSettled && at.Before(h.Since) {
				h.Since = at
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	by := make(map[string]JobHistory, len(names))
	for i, name := range names {
		by[name] = list[i]
	}
	return by, nil
}
