package driver

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/record"
)

const limitPrefix = "limit:"

// takings are the requests for units of limits that have not been sent. Each name has one batch
// under way at a time, and requests that come meanwhile travel as the next. So a name costs one
// change for each round trip, however many ask.
type takings struct {
	mu      sync.Mutex
	pending map[string][]*taking // of the names that a goroutine works for
}

// taking is one request for units.
type taking struct {
	ctx    context.Context
	take   protocol.Take
	answer chan takingAnswer // of one
}

type takingAnswer struct {
	taken protocol.Taken
	err   error
}

// add reports whether nobody works for the name.
func (q *takings) add(t *taking) (begin bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	list, busy := q.pending[t.take.Name]
	if q.pending == nil {
		q.pending = make(map[string][]*taking)
	}
	q.pending[t.take.Name] = append(list, t)
	return !busy
}

// next returns the next batch of a name, without the requests that nobody waits for any more. It
// returns nil when there is none, and then nobody works for the name.
func (q *takings) next(name string) (batch []*taking) {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := q.pending[name]
	for len(list) > 0 && len(batch) < record.MaxBatch {
		if list[0].ctx.Err() == nil {
			batch = append(batch, list[0])
		}
		list = list[1:]
	}
	if batch == nil {
		delete(q.pending, name)
		return nil
	}
	q.pending[name] = list
	return batch
}

// Take implements [protocol.Store].
func (s *Session) Take(ctx context.Context, t protocol.Take) (protocol.Taken, error) {
	if err := t.Validate(); err != nil {
		return protocol.Taken{}, err
	}
	if err := context.Cause(ctx); err != nil {
		return protocol.Taken{}, err
	}
	one := &taking{ctx: ctx, take: t, answer: make(chan takingAnswer, 1)}
	if s.takings.add(one) {
		go s.takeAll(t.Name)
	}
	select {
	case a := <-one.answer:
		return a.taken, a.err
	case <-ctx.Done():
		return protocol.Taken{}, context.Cause(ctx)
	}
}

// takeAll answers the requests for units of a name until there are none. After every so many batches
// it gives way: who knows a value since it has just changed it is always quicker than others.
func (s *Session) takeAll(name string) {
	for n := 1; ; n++ {
		batch := s.takings.next(name)
		if batch == nil {
			return
		}
		s.takeBatch(name, batch)
		if n%takesInTurn == 0 {
			time.Sleep(2 * s.roundTrip())
		}
	}
}

const (
	// takesInTurn is how many batches a client takes before it gives way.
	takesInTurn = 32
	// takeTries is how often a batch is sent whose answer got lost.
	takeTries = 3
	// firstAhead is by how much later than it is decided a batch is carried out, at most, before it
	// is decided again; more when round trips take longer. The second time it is twice as much.
	firstAhead = 4 * time.Millisecond
)

// takeBatch answers requests for units of one name. It tries for as long as one of the callers
// waits.
func (s *Session) takeBatch(name string, batch []*taking) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b := &takenBatch{id: s.nextID(), list: make([]protocol.Take, len(batch))}
	for i, t := range batch {
		b.list[i] = t.take
		defer context.AfterFunc(t.ctx, func() {
			if !waited(batch) {
				cancel()
			}
		})()
	}
	err := s.takeOnce(ctx, name, b)
	for try := 1; try < takeTries && err != nil && !errors.Is(err, protocol.ErrPermanent) && ctx.Err() == nil; try++ {
		b.lost = true
		err = s.takeOnce(ctx, name, b)
	}
	for i, t := range batch {
		if err != nil {
			t.answer <- takingAnswer{err: failed("take of", name, err)}
			continue
		}
		t.answer <- takingAnswer{taken: b.taken[i]}
	}
}

// takenBatch are requests that travel together, and their answers.
type takenBatch struct {
	id    string
	list  []protocol.Take
	taken []protocol.Taken
	// lost says that a reply was lost: the units may be taken. Then until stays as it was.
	lost  bool
	until time.Time
}

var errTaken = errors.New("it is unknown whether the units were taken: the store was away for too long to remember")

// takeOnce sends a batch. The same batch again is answered as before, or refused with errTaken.
func (s *Session) takeOnce(ctx context.Context, name string, b *takenBatch) error {
	l, ahead := new(record.Limit), max(firstAhead, s.roundTrip())
	w := &work{key: limitPrefix + name, state: l}
	var from *Version
	known := false
	w.rule = func(at *record.Moment) []Notification {
		if from != nil && *from == w.value.Version { // it was out of bounds
			ahead = min(2*ahead, time.Second)
		}
		from = new(Version)
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

// waited reports whether somebody waits for an answer.
func waited(batch []*taking) bool {
	for _, t := range batch {
		if t.ctx.Err() == nil {
			return true
		}
	}
	return false
}
