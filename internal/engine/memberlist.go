package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/driver"
)

// members are those that a session has seen, by holder: it decodes a value again only when it has
// changed.
type members struct {
	mu    sync.Mutex
	list  memberList
	known map[string]*knownMember
}

// readMember reads a member, and the list.
func (s *Session) readMember(ctx context.Context, holder string) (*knownMember, memberList, error) {
	results, err := s.doAll(ctx, driver.Op{Key: memberPrefix}, driver.Op{Key: memberPrefix + holder})
	if err != nil {
		return nil, memberList{}, err
	}
	s.clock.set(results[0].Now)
	list, err := readMemberList(results[0].Value)
	m := &knownMember{Member: protocol.Member{Holder: holder}}
	if err = cmp.Or(err, m.take(results[1].Value)); err != nil {
		return nil, list, err
	}
	s.members.setList(list)
	return m, list, nil
}

func readMemberList(v driver.Value) (list memberList, err error) {
	if v.Version != (driver.Version{}) {
		if err := json.Unmarshal(v.Data, &list); err != nil {
			return list, fmt.Errorf("%w: %s: %w", driver.ErrRecord, memberPrefix, err)
		}
	}
	list.version = v.Version
	return list, nil
}

// readMembers reads all that are on the list, as they are at one time of the store. It is one round
// trip unless somebody has joined meanwhile.
func (s *Session) readMembers(ctx context.Context) (all []*knownMember, now time.Time, err error) {
	holders := s.members.holders()
	for {
		ops := []driver.Op{{Key: memberPrefix}}
		for _, holder := range holders {
			ops = append(ops, driver.Op{Key: memberPrefix + holder})
		}
		results, err := s.doAll(ctx, ops...)
		if err != nil {
			return nil, now, err
		}
		s.clock.set(results[0].Now)
		list, err := readMemberList(results[0].Value)
		if err != nil {
			return nil, now, err
		}
		joined := slices.ContainsFunc(list.Holders, func(h string) bool { return !slices.Contains(holders, h) })
		s.members.setList(list)
		if joined {
			holders = list.Holders
			continue
		}
		now = results[0].Now
		for i, holder := range holders {
			m := s.members.copy(holder)
			if err := m.take(results[i+1].Value); err != nil {
				return nil, now, err
			}
			now = later(now, results[i+1].Now)
			if list.has(holder) {
				s.members.set(m)
				all = append(all, m)
			}
		}
		return all, now, nil
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// get returns a copy of what is known of a holder, nil for nothing, and the list.
func (m *members) get(holder string) (*knownMember, memberList) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.known[holder]; known != nil {
		c := *known
		return &c, m.list
	}
	return nil, m.list
}

// copy returns what is known of a holder, in which the next value may be taken in.
func (m *members) copy(holder string) *knownMember {
	if known, _ := m.get(holder); known != nil {
		return known
	}
	return &knownMember{Member: protocol.Member{Holder: holder}}
}

func (m *members) set(known *knownMember) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		m.known = make(map[string]*knownMember)
	}
	m.known[known.Holder] = known
}

func (m *members) drop(holder string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.known, holder)
}

// setList notes the list, and forgets those that are not on it.
func (m *members) setList(list memberList) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = list
	maps.DeleteFunc(m.known, func(holder string, _ *knownMember) bool { return !list.has(holder) })
}

// holders returns those that were on the list when it was read last.
func (m *members) holders() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.list.Holders
}
