package engine

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/record"
	"github.com/solotick/solotick/lease/driver"
)

// oneLock applies a rule to a lock. The rule returns the requests to notify, where an empty list
// that is not nil means all of them.
func (s *Session) oneLock(ctx context.Context, what, name string, essential bool, f func(l *record.Lock, at *record.Moment) (waiters []string, affirms bool),
	made func(guessed, token int64, now time.Time)) error {
	l := new(record.Lock)
	w := &work{key: lockPrefix + name, state: l, essential: essential, made: made}
	w.rule = func(at *record.Moment) []driver.Notification {
		waiters, affirms := f(l, at)
		if w.affirms = affirms; waiters != nil {
			return []driver.Notification{{Name: name, Waiters: waiters}}
		}
		return nil
	}
	s.apply(ctx, w)
	return failed(what, name, w.err)
}

// ClaimLock implements [protocol.Store].
func (s *Session) ClaimLock(ctx context.Context, c protocol.LockClaim) (a protocol.LockAnswer, err error) {
	if err := c.Validate(); err != nil {
		return protocol.LockAnswer{}, err
	}
	err = s.oneLock(ctx, "claim", c.Name, false, func(l *record.Lock, at *record.Moment) (waiters []string, affirms bool) {
		a, waiters = l.Claim(c, at)
		return waiters, a.Status == protocol.Granted
	}, func(guessed, stamped int64, now time.Time) {
		stamp(&a.Token, &a.Remaining, &a.Now, guessed, stamped, now)
	})
	if err != nil {
		return protocol.LockAnswer{}, err
	}
	if a.Status == protocol.Queued && s.options.Waiting != nil {
		s.options.Waiting()
	}
	return a, nil
}

// RenewLocks implements [protocol.Store].
func (s *Session) RenewLocks(ctx context.Context, grants []protocol.LockGrant) []error {
	return s.renew(ctx, len(grants), func(i int) renewal {
		g := &grants[i]
		return renewal{
			key: lockPrefix + g.Name, name: g.Name, holder: g.Holder + " " + g.Request, token: g.Token, ttl: g.TTL,
			fault: g.Validate(),
		}
	}, func() (record.State, func(i int, at *record.Moment) error) {
		l := new(record.Lock)
		return l, func(i int, at *record.Moment) error { return l.Renew(grants[i], at) }
	})
}

// ReleaseLock implements [protocol.Store].
func (s *Session) ReleaseLock(ctx context.Context, g protocol.LockGrant) error {
	if err := g.ValidateRelease(); err != nil {
		return err
	}
	var answer error
	err := s.oneLock(ctx, "release", g.Name, true, func(l *record.Lock, at *record.Moment) (waiters []string, _ bool) {
		waiters, answer = l.Release(g, at)
		return waiters, false
	}, nil)
	return cmp.Or(err, answer)
}

// Lock implements [protocol.Store].
func (s *Session) Lock(ctx context.Context, name string) (protocol.Lock, error) {
	if err := checkName(name); err != nil {
		return protocol.Lock{}, err
	}
	l := new(record.Lock)
	results, err := s.look(ctx, l, driver.Op{Key: lockPrefix + name})
	if err != nil {
		return protocol.Lock{}, failed("lock", name, err)
	}
	return l.View(name, record.At(results[0].Now)), nil
}

// Locks implements [protocol.Store].
func (s *Session) Locks(ctx context.Context, prefix, cursor string, count int) (locks []protocol.Lock, next string, err error) {
	if prefix != "" && !protocol.ValidName(prefix) { // a special character is in no name
		return nil, "", context.Cause(ctx)
	}
	keys, next, err := s.medium().Scan(ctx, lockPrefix+prefix, cursor, max(count, 1))
	if err != nil {
		return nil, "", fmt.Errorf("locks: %w", err)
	}
	ops := make([]driver.Op, len(keys))
	for i, key := range keys {
		ops[i].Key = key
	}
	for i, res := range s.medium().Do(ctx, ops) {
		l, name := new(record.Lock), name(keys[i])
		err := res.Err
		if err == nil {
			err = s.decodeTo(l, keys[i], res)
		}
		if err != nil {
			return nil, "", failed("locks", name, err)
		}
		if v := l.View(name, record.At(res.Now)); len(v.Holds) > 0 || v.Waiters > 0 {
			locks = append(locks, v)
		}
	}
	return locks, next, nil
}

// ForceRelease implements [protocol.Store].
func (s *Session) ForceRelease(ctx context.Context, name string, token int64) (held bool, err error) {
	if err := checkName(name); err != nil {
		return false, err
	}
	err = s.oneLock(ctx, "force release of", name, true, func(l *record.Lock, at *record.Moment) (waiters []string, _ bool) {
		waiters, held = l.ForceRelease(token, at)
		return waiters, false
	}, nil)
	return held, err
}

// Listen implements [protocol.Store].
func (s *Session) Listen(ctx context.Context, wake func(name string, requests []string)) error {
	return s.medium().Subscribe(ctx, func(n driver.Notification) {
		if n.Name == "" || n.Waiters != nil {
			wake(n.Name, n.Waiters)
		}
	})
}
