package scheduler

import (
	"context"
	"time"
)

// repeatOutages reports once a minute that the store still does not answer, until ctx ends.
func (s *Scheduler) repeatOutages(ctx context.Context) {
	const again = time.Minute
	var began, next time.Time // of an outage; the zero time while there is none
	for {
		news, now := s.news.wait(), time.Now()
		var due <-chan time.Time
		switch {
		case s.health.IsUp():
			began = time.Time{}
		case began.IsZero():
			began, next = now, now.Add(again)
		case !now.Before(next):
			next = next.Add(again)
			if err := s.health.LastError(); err != nil {
				s.observe(StoreChanged{Away: now.Sub(began), Err: err, Hint: s.store.Hint(err)})
			}
		}
		if !began.IsZero() {
			due = time.After(time.Until(next))
		}
		select {
		case <-news:
		case <-due:
		case <-ctx.Done():
			return
		}
	}
}
