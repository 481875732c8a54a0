package engine

import (
	"context"
	"slices"
	"time"

	"github.com/solotick/solotick/internal/record"
	"github.com/solotick/solotick/lease/driver"
)

// renewal is the renewal of one grant, of a tick or of a lock.
type renewal struct {
	key, name, holder string // the key, the name for people, and the holder as the value's lease has it
	token             int64
	ttl               time.Duration
	fault             error // the answer, when it is not nil
	byRule            bool  // more than the end of the lease may change
}

// renew answers n renewals. The store extends the leases that it has; a rule is asked about the
// rest. ruled returns the state of a key, and what answers a renewal about it.
func (s *Session) renew(ctx context.Context, n int, of func(i int) renewal,
	ruled func() (record.State, func(i int, at *record.Moment) error)) []error {
	answers := make([]error, n)
	list := make([]renewal, n)
	var ops []driver.Op
	var asked []int // renewals
	rest := make(map[string][]int)
	for i := range list {
		list[i] = of(i)
		r := &list[i]
		switch {
		case r.fault != nil:
			answers[i] = r.fault
		case r.byRule:
			rest[r.key] = append(rest[r.key], i)
		default:
			ops, asked = append(ops, driver.Op{Key: r.key, Renew: &driver.Renewal{Token: r.token, Holder: r.holder, TTL: r.ttl}}), append(asked, i)
		}
	}
	for j, res := range s.medium().Do(ctx, ops) {
		i := asked[j]
		r := &list[i]
		s.clock.set(res.Now)
		switch {
		case res.Err != nil:
			answers[i] = failed("renew", r.name, res.Err)
		case res.Status == driver.Done:
			s.known.extend(r.key, r.token, res.Now.Add(r.ttl))
		default:
			rest[r.key] = append(rest[r.key], i)
		}
	}
	var works []*work
	for key, parts := range rest {
		state, answer := ruled()
		works = append(works, &work{key: key, state: state, essential: true, rule: func(at *record.Moment) []driver.Notification {
			for _, i := range parts {
				answers[i] = answer(i, at)
			}
			return nil
		}})
	}
	for batch := range slices.Chunk(works, most) {
		s.apply(ctx, batch...)
		for _, w := range batch {
			if w.err == nil {
				continue
			}
			for _, i := range rest[w.key] {
				answers[i] = failed("renew", list[i].name, w.err)
			}
		}
	}
	return answers
}
