package memlease

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/record"
)

type listener func(name string, requests []string)

// Lock implements [lease.Locker].
func (s *Store) Lock(ctx context.Context, name string) (lease.Lock, error) {
	if err := cmp.Or(checkName(name), context.Cause(ctx)); err != nil {
		return lease.Lock{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.records[name]
	if r == nil {
		return lease.Lock{Name: name}, nil
	}
	return r.Lock.View(name, record.At(s.nowLocked())), nil
}

// Locks implements [lease.Locker]. The cursor is the name that was looked at last.
func (s *Store) Locks(ctx context.Context, prefix, cursor string, count int) (locks []lease.Lock, next string, err error) {
	if err := context.Cause(ctx); err != nil {
		return nil, "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.nowLocked()
	for _, name := range slices.Sorted(maps.Keys(s.records)) {
		if name <= cursor || !strings.HasPrefix(name, prefix) {
			continue
		}
		if len(locks) >= max(count, 1) {
			return locks, locks[len(locks)-1].Name, nil
		}
		if v := s.records[name].Lock.View(name, record.At(now)); len(v.Holds) > 0 || v.Waiters > 0 {
			locks = append(locks, v)
		}
	}
	return locks, "", nil
}

// ForceRelease implements [lease.Locker].
func (s *Store) ForceRelease(ctx context.Context, name string, token int64) (bool, error) {
	if err := cmp.Or(checkName(name), context.Cause(ctx)); err != nil {
		return false, err
	}
	s.mu.Lock()
	woken, held := s.recordLocked(name).Lock.ForceRelease(token, record.At(s.nowLocked()))
	tell := s.tellLocked(name, woken)
	s.mu.Unlock()
	tell()
	return held, nil
}

// Listen implements [lease.Locker].
func (s *Store) Listen(ctx context.Context, wake func(name string, requests []string)) error {
	l := listener(wake)
	s.mu.Lock()
	if s.listens == nil {
		s.listens = make(map[*listener]struct{})
	}
	s.listens[&l] = struct{}{}
	s.mu.Unlock()
	wake("", nil)
	<-ctx.Done()
	s.mu.Lock()
	delete(s.listens, &l)
	s.mu.Unlock()
	return context.Cause(ctx)
}

// tellLocked returns what tells those who listen, without the mutex; it does nothing when requests is nil.
func (s *Store) tellLocked(name string, requests []string) (tell func()) {
	if requests == nil || len(s.listens) == 0 {
		return func() {}
	}
	listens := slices.Collect(maps.Keys(s.listens))
	return func() {
		for _, f := range listens {
			(*f)(name, requests)
		}
	}
}
