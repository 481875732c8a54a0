package memlease

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/solotick/solotick/lease"
)

// Pause implements [lease.Controller].
func (s *Store) Pause(ctx context.Context, name string, p lease.Pause) (lease.Pause, error) {
	if err := cmp.Or(checkName(name), p.Validate(), context.Cause(ctx)); err != nil {
		return lease.Pause{}, err
	}
	s.mu.Lock()
	in, err := s.recordLocked(name).Pause(p, time.Now())
	s.unlock(err == nil, name, lease.Ruled)
	return in, err
}

// Resume implements [lease.Controller].
func (s *Store) Resume(ctx context.Context, name, by string) (*lease.Pause, error) {
	if err := cmp.Or(checkName(name), lease.Pause{By: by}.Validate(), context.Cause(ctx)); err != nil {
		return nil, err
	}
	s.mu.Lock()
	was, err := s.recordLocked(name).Resume(by, time.Now())
	s.unlock(err == nil, name, lease.Ruled)
	return was, err
}

// Trigger implements [lease.Controller].
func (s *Store) Trigger(ctx context.Context, t lease.Trigger) (lease.Triggered, error) {
	if err := cmp.Or(t.Validate(), context.Cause(ctx)); err != nil {
		return lease.Triggered{}, err
	}
	s.mu.Lock()
	a, wake, err := s.recordLocked(t.Name).Trigger(t, time.Now())
	s.unlock(wake, t.Name, a.Occasion)
	return a, err
}

// Announce implements [lease.Roster].
func (s *Store) Announce(ctx context.Context, holder string, info []byte, life time.Duration) error {
	if err := cmp.Or(checkMember(holder, info), context.Cause(ctx)); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.members == nil {
		s.members = make(map[string]member)
	}
	s.members[holder] = member{info: slices.Clone(info), ends: time.Now().Add(life)}
	return nil
}

// Members implements [lease.Roster].
func (s *Store) Members(ctx context.Context) ([]lease.Member, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	var list []lease.Member
	for holder, m := range s.members {
		if !m.ends.After(now) {
			delete(s.members, holder)
			continue
		}
		list = append(list, lease.Member{Holder: holder, Info: slices.Clone(m.info), Left: m.ends.Sub(now)})
	}
	slices.SortFunc(list, func(a, b lease.Member) int { return cmp.Compare(a.Holder, b.Holder) })
	return list, nil
}

func checkName(name string) error {
	if !lease.ValidName(name) {
		return fmt.Errorf("memlease: name %q %s", name, lease.NameRule)
	}
	return nil
}

func checkMember(holder string, info []byte) error {
	switch {
	case !lease.ValidName(holder):
		return fmt.Errorf("memlease: holder %q %s", holder, lease.NameRule)
	case len(info) > lease.MaxInfo:
		return fmt.Errorf("memlease: %d bytes about %s, must be at most %d", len(info), holder, lease.MaxInfo)
	}
	return nil
}
