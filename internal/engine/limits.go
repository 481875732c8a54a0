package engine

import (
	"context"
	"errors"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/record"
	"github.com/solotick/solotick/lease/driver"
)

const limitPrefix = "limit:"

// Take implements [protocol.Store].
func (s *Session) Take(ctx context.Context, t protocol.Take) (protocol.Taken, error) {
	if err := t.Validate(); err != nil {
		return protocol.Taken{}, err
	}
	return s.takings.ask(ctx, s, t.Name, t, func(ctx context.Context, list []protocol.Take) ([]protocol.Taken, error) {
		return s.takeAll(ctx, t.Name, list)
	})
}

const (
	// takeTries is how often a batch is sent if its answer gets lost.
	takeTries = 3
	// firstAhead is the time that a batch has to reach the store, at least, before it must be
	// decided again; it is longer if round trips take longer. It doubles each time.
	firstAhead = 4 * time.Millisecond
)

// takeAll takes units of one name for several requests.
func (s *Session) takeAll(ctx context.Context, name string, list []protocol.Take) ([]protocol.Taken, error) {
	b := &takenBatch{id: s.nextID(), list: list}
	err := s.takeOnce(ctx, name, b)
	for try := 1; try < takeTries && err != nil && !errors.Is(err, protocol.ErrPermanent) && ctx.Err() == nil; try++ {
		b.lost = true
		err = s.takeOnce(ctx, name, b)
	}
	return b.taken, failed("take of", name, err)
}

// takenBatch is a batch of requests, and their answers.
type takenBatch struct {
	id    string
	list  []protocol.Take
	taken []protocol.Taken
	// lost reports that a reply was lost, so the units may have been taken. Then until must stay as
	// it was.
	lost  bool
	until time.Time
}

var errTaken = errors.New("it is unknown whether the units were taken: the store was away for too long to remember")

// takeOnce sends a batch. If the same batch is sent again, the answer is the same, or errTaken.
func (s *Session) takeOnce(ctx context.Context, name string, b *takenBatch) error {
	l, ahead := new(record.Limit), max(firstAhead, s.roundTrip())
	w := &work{key: limitPrefix + name, state: l}
	var from *driver.Version
	known := false
	w.rule = func(at *record.Moment) []driver.Notification {
		if from != nil && *from == w.value.Version { // it was out of bounds
			ahead = min(2*ahead, time.Second)
		}
		from = new(driver.Version)
		*from = w.value.Version
		if !b.lost {
			b.until = w.now.Add(record.TakenFor).Truncate(time.Microsecond)
		}
		b.taken, known = l.Take(b.id, b.until, b.list, ahead, at)
		return nil
	}
	s.apply(ctx, w)
	if w.err == nil && !known {
		return errTaken
	}
	return w.err
}
