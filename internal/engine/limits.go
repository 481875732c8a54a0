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
	if s.options.Take != nil {
		return s.takeThere(ctx, name, b)
	}
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

// Taking is a batch of requests that a store decides by itself.
type Taking struct {
	Name  string
	ID    string // as that of a [record.Batch]
	Until time.Time
	List  []protocol.Take
	// Known is the newest stamp that the session has seen of the limit. A store whose limit has an
	// older one has lost what was taken since, and decides nothing, unless that stamp is Instead.
	// Then Lost takes the place of the limit first.
	Known, Instead int64
	Lost           record.Limit
}

// TakenBatch is the answer to a [Taking].
type TakenBatch struct {
	Now     time.Time
	Limit   record.Limit // as it was before, without what clients did
	Stamp   int64        // that it has now
	Decided bool         // Closed, and what the batch was granted, say how
	record.Decision
}

var errDisagree = errors.New("the store does not decide by the rules of this release")

// takeThere has the store decide a batch. What it granted is reckoned again here, by the same rules:
// they give the answers.
func (s *Session) takeThere(ctx context.Context, name string, b *takenBatch) error {
	key := limitPrefix + name
	known, _ := s.known.get(key)
	q := &Taking{Name: name, ID: b.id, List: b.list, Known: known.Version.Stamp, Instead: -1}
	now := s.clock.reckon()
	for {
		if !b.lost { // the store would refuse it if now were far from its time
			b.until = now.Add(record.TakenFor).Truncate(time.Microsecond)
		}
		q.Until = b.until
		sent := time.Now()
		a, err := s.options.Take(ctx, q)
		s.took.Store(int64(time.Since(sent)))
		if err != nil {
			return err
		}
		now = a.Now
		s.clock.set(now)
		switch {
		case a.Decided:
			var granted uint64
			if b.taken, granted = a.Limit.Decide(b.list, a.Decision, record.At(now)); !a.Repeated && granted != a.OK {
				return errDisagree
			}
			s.known.set(key, driver.Value{Version: driver.Version{Stamp: a.Stamp}, Data: a.Limit.Encode(a.Stamp)})
			return nil
		case a.Stamp < q.Known && a.Stamp != q.Instead:
			var newer record.Limit
			if err := newer.Decode(name, known.Data, known.Version.Stamp, nil); err != nil {
				return err
			}
			q.Instead, q.Lost = a.Stamp, a.Limit
			q.Lost.Restore(&newer)
		case b.lost:
			return errTaken
		}
	}
}
