package fleet

import (
	"context"
	"errors"
	"time"
)

// JobHistory is what the store keeps of one job's ticks.
type JobHistory struct {
	Entries   []Entry   // as [Fleet.History] has them: open ones first, then settled ones, each newest tick first
	Facts     []Fact    // as [Fleet.Facts] has them, newest first; none where the store keeps no journal
	Watermark time.Time // every tick up to it is settled or open; zero when the store has no record
	Kept      time.Time // when the oldest outcome was settled that the history has room for; zero when nothing has been dropped
}

// Histories returns the histories of several jobs, by their names, with as many outcomes as the store keeps. It reads them
// all: ask for the jobs of a page, not for those of a fleet.
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
		if list[i].Facts, err = f.Facts(ctx, names[i]); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
		list[i].Entries = f.history(r, list[i].Facts, now)
		list[i].Watermark = fromMilli(r.Watermark)
		if len(r.Settled) >= r.Policy.Kept() {
			list[i].Kept = r.Settled[0].At
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
