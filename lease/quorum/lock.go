package quorum

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/solotick/solotick/lease/protocol"
	"github.com/solotick/solotick/lease/record"
)

// oneLock applies a verb to the lock of name.
func (s *Store) oneLock(ctx context.Context, what, name string, begin opening, grows bool, f func(l *record.Lock, now time.Time) (done func())) error {
	errs := s.registers.update(ctx, []string{lockKey(name)}, begin, grows,
		on(lockKind, func(_ int, l *record.Lock, now time.Time) func() { return f(l, now) }))
	if errs[0] != nil {
		return fmt.Errorf("%s %q: %w", what, name, errs[0])
	}
	return nil
}

// claimLock claims a lock once, and returns for how long to wait, at most patience, before it has to be claimed again.
func (s *Store) claimLock(ctx context.Context, c protocol.LockClaim, patience time.Duration) (a protocol.LockAnswer, wait time.Duration, err error) {
	begin := look
	if c.Ticket > 0 { // it will be granted or wait in line: either way something changes
		begin = above
	}
	err = s.oneLock(ctx, "claim", c.Name, begin, true, func(l *record.Lock, now time.Time) func() {
		answer, woken, w := claimLock(l, c, now, patience)
		return func() {
			a, wait = answer, w
			s.tellLock(c.Name, woken)
		}
	})
	return a, wait, err
}

// ReleaseLock implements [protocol.Locker].
func (s *Store) ReleaseLock(ctx context.Context, g protocol.LockGrant) error {
	if err := g.ValidateRelease(); err != nil {
		return err
	}
	var answer error
	err := s.oneLock(ctx, "release", g.Name, above, false, func(l *record.Lock, now time.Time) func() {
		woken, said := l.Release(g, record.At(now))
		return func() {
			answer = said
			s.tellLock(g.Name, woken)
		}
	})
	if err != nil {
		return err
	}
	return answer
}

// ClaimLock implements [protocol.Locker]. It waits as Claim does.
func (s *Store) ClaimLock(ctx context.Context, c protocol.LockClaim) (a protocol.LockAnswer, err error) {
	if err := cmp.Or(c.Validate(), s.checkTerm(c.Name, c.Term)); err != nil {
		return a, err
	}
	var lost []protocol.LostHold // on the way
	err = s.claimUntil(ctx, c.Name, func(patience time.Duration) (wait time.Duration, err error) {
		a, wait, err = s.claimLock(ctx, c, patience)
		lost = append(lost, a.Lost...)
		a.Lost = lost
		return wait, err
	})
	return a, err
}

// RenewLocks implements [protocol.Locker].
func (s *Store) RenewLocks(ctx context.Context, grants []protocol.LockGrant) []error {
	return renewal(ctx, s, len(grants), lockKind, func(i int) (name, key string, fault error) {
		g := &grants[i]
		return g.Name, lockKey(g.Name), cmp.Or(g.Validate(), s.checkTerm(g.Name, g.Term))
	}, func(l *record.Lock, i int, now time.Time) error { return renewLock(l, grants[i], now) })
}

// Lock implements [protocol.Locker].
func (s *Store) Lock(ctx context.Context, name string) (v protocol.Lock, err error) {
	if err := checkName(name); err != nil {
		return protocol.Lock{}, err
	}
	err = s.oneLock(ctx, "lock", name, look, false, func(l *record.Lock, now time.Time) func() {
		seen := l.View(name, record.At(now))
		return func() { v = seen }
	})
	return v, err
}

// ForceRelease implements [protocol.Locker].
func (s *Store) ForceRelease(ctx context.Context, name string, token int64) (held bool, err error) {
	if err := checkName(name); err != nil {
		return false, err
	}
	err = s.oneLock(ctx, "force release of", name, look, false, func(l *record.Lock, now time.Time) func() {
		woken, was := l.ForceRelease(token, record.At(now))
		return func() {
			held = was
			s.tellLock(name, woken)
		}
	})
	return held, err
}

// tellLock tells those who listen of requests, where an empty list, but not nil, means any.
func (s *Store) tellLock(name string, requests []string) {
	if requests == nil {
		return
	}
	s.publish(lockPrefix + name + " " + strconv.FormatUint(rand.Uint64(), 36) + " " + strings.Join(requests, " "))
}

// Listen implements [protocol.Locker]. It listens on every node that it can, and calls wake with the empty name whenever it
// begins to. It ends when it listens on none.
func (s *Store) Listen(ctx context.Context, wake func(name string, requests []string)) error {
	return s.listen(ctx, "listen", func(message string) bool { return isLock(message) }, func(message string) {
		if message == "" {
			wake("", nil)
			return
		}
		fields := strings.Fields(strings.TrimPrefix(message, lockPrefix))
		if len(fields) < 2 {
			return // nobody here has published that
		}
		var requests []string
		if len(fields) > 2 {
			requests = fields[2:]
		}
		wake(fields[0], requests)
	})
}
