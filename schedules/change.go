package schedules

import (
	"context"
	"sync"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

// Delete deletes the schedule of a key, and reports whether there was one. No further tick is
// granted. One that runs goes on, and its record stays until it has ended.
func (s *Schedules) Delete(ctx context.Context, key string, opts ...Option) (deleted bool, err error) {
	o, err := Apply(opts...)
	if err != nil || !naming.Valid(key) {
		return false, err
	}
	for try := 1; ; try++ {
		until, err := s.fleet.Until(ctx)
		found := false
		if err == nil {
			found, err = s.store.WithdrawSchedule(ctx, protocol.Withdraw{Name: s.name(key), If: o.IfRevision, Until: until})
		}
		switch {
		case err == nil && found && o.As != nil:
			s.note(ctx, "", *o.As, fleet.Fact{Kind: wire.FactDeleted, Job: s.name(key)}) // the key's journal is gone
			return true, nil
		case err == nil:
			return found || try > 1, nil // the answer of an earlier try was lost
		case !unknown(ctx, err) || try == tries:
			return false, named(key, err)
		}
	}
}

// Pause skips the ticks of a schedule until [Schedules.Resume], as [fleet.Fleet.Pause] does those of
// a job. It returns [ErrNotFound] if there is no schedule.
func (s *Schedules) Pause(ctx context.Context, key string, act fleet.Act) error {
	if _, err := s.Get(ctx, key); err != nil {
		return err
	}
	_, err := s.fleet.Pause(ctx, s.name(key), act)
	return err
}

// Resume ends a pause, and reports whether there was one.
func (s *Schedules) Resume(ctx context.Context, key string, act fleet.Act) (resumed bool, err error) {
	if _, err := s.Get(ctx, key); err != nil {
		return false, err
	}
	was, err := s.fleet.Resume(ctx, s.name(key), act)
	return was != nil, err
}

// Trigger runs the job once, now, for a key that has a schedule. The run has the schedule's payload
// unless o has another. See [fleet.Fleet.Trigger].
func (s *Schedules) Trigger(ctx context.Context, key string, o fleet.TriggerOptions) (fleet.Triggered, error) {
	row, err := s.Get(ctx, key)
	if err != nil {
		return fleet.Triggered{}, err
	}
	if o.Payload == "" {
		o.Payload = jobs.Payload(row.Payload)
	}
	return s.fleet.Trigger(ctx, s.name(key), o)
}

// PausePrefix pauses every schedule whose key begins with prefix, and returns how many were not
// paused before. The audit log has it as one act. After an error some of them are paused.
func (s *Schedules) PausePrefix(ctx context.Context, prefix string, act fleet.Act) (int, error) {
	n, err := s.each(ctx, prefix, false, act, func(ctx context.Context, name string, q protocol.Pause) error {
		_, err := s.store.Pause(ctx, name, q)
		return err
	})
	if n > 0 {
		s.note(ctx, "", act, fleet.Fact{Kind: wire.FactPaused, Key: prefix, Count: n})
	}
	return n, err
}

// ResumePrefix ends the pause of every schedule whose key begins with prefix, and returns how many
// were paused.
func (s *Schedules) ResumePrefix(ctx context.Context, prefix string, act fleet.Act) (int, error) {
	n, err := s.each(ctx, prefix, true, act, func(ctx context.Context, name string, q protocol.Pause) error {
		_, err := s.store.Resume(ctx, name, protocol.Resume{By: q.By, Until: q.Until})
		return err
	})
	if n > 0 {
		s.note(ctx, "", act, fleet.Fact{Kind: wire.FactResumed, Key: prefix, Count: n})
	}
	return n, err
}

// changedAtOnce is how many schedules a change by prefix changes at a time.
const changedAtOnce = 32

// each calls change for the schedules whose keys begin with prefix and that are paused, or not. It
// returns for how many it did, and the first error.
func (s *Schedules) each(
	ctx context.Context, prefix string, paused bool, act fleet.Act, change func(context.Context, string, protocol.Pause) error,
) (n int, err error) {
	q := protocol.Pause{By: act.By, Reason: act.Reason}
	if err := q.Validate(); err != nil {
		return 0, err
	}
	for cursor := ""; ; {
		page, err := s.List(ctx, prefix, cursor, pageSize)
		if err != nil {
			return n, err
		}
		if q.Until, err = s.fleet.Until(ctx); err != nil {
			return n, err
		}
		var mu sync.Mutex
		var all sync.WaitGroup
		room := make(chan struct{}, changedAtOnce)
		for _, row := range page.Schedules {
			if (row.Paused != nil) != paused {
				continue
			}
			room <- struct{}{}
			all.Go(func() {
				failed := change(ctx, s.name(row.Key), q)
				if unknown(ctx, failed) {
					failed = change(ctx, s.name(row.Key), q)
				}
				<-room
				mu.Lock()
				defer mu.Unlock()
				if n++; failed != nil {
					n, err = n-1, named(row.Key, failed)
				}
			})
		}
		all.Wait()
		if cursor = page.Next; err != nil || cursor == "" {
			return n, err
		}
	}
}
