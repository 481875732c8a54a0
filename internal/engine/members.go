package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/driver"
)

// memberPrefix and a holder are the key of a member, which has a lease for as long as the member
// lives: a heartbeat that says nothing new renews it. Alone it is the key of the list of members.
const memberPrefix = "member:"

// member is the value of a member.
type member struct {
	Info []byte `json:"info,omitempty"`
	Life int64  `json:"life"` // of its last heartbeat with news, in µs
	Gone int64  `json:"gone,omitempty"`
}

// memberList is the value of the list. Who joins removes those that no one needs to know any more.
type memberList struct {
	Holders []string `json:"holders"` // sorted
	version driver.Version
}

func (l *memberList) has(holder string) bool {
	_, found := slices.BinarySearch(l.Holders, holder)
	return found
}

// knownMember is a member as a session has seen it.
type knownMember struct {
	protocol.Member       // with its Info; Remaining is not set
	life, gone      int64 // as of member
	version         driver.Version
	digest          string
	ends            time.Time
	token           int64 // of its lease; 0 for none
}

func (m *knownMember) lives(now time.Time) bool { return m.token != 0 && m.ends.After(now) }

// SendHeartbeat implements [protocol.Store].
func (s *Session) SendHeartbeat(ctx context.Context, holder string, info []byte, life time.Duration) error {
	if err := protocol.CheckMember(holder, info); err != nil {
		return err
	}
	_, err := s.announce(ctx, &protocol.Heartbeat{Holder: holder, Info: info, Life: life})
	return err
}

// announce says that a member lives, or has left if it has no life, and returns what another process
// has said meanwhile under its holder.
func (s *Session) announce(ctx context.Context, h *protocol.Heartbeat) (other []byte, err error) {
	key := memberPrefix + h.Holder
	if err := s.queue.Take(ctx, key); err != nil {
		return nil, failed("announce", h.Holder, err)
	}
	defer s.queue.Give(key)
	digest := protocol.InfoDigest(h.Info)
	m, list := s.members.get(h.Holder)
	if m == nil || m.token == 0 || list.version == (driver.Version{}) {
		if m, list, err = s.readMember(ctx, h.Holder); err != nil {
			return nil, failed("announce", h.Holder, err)
		}
	}
	for try := 0; ; try++ {
		s.pause(ctx, try)
		if h.Before != "" && m.lives(s.clock.reckon()) && m.digest != h.Before && m.digest != digest {
			other = m.Info
		}
		op, todo := s.announcement(h, m, digest)
		if !todo {
			return nil, nil
		}
		results, err := s.doAll(ctx, op)
		if err == nil && results[0].Status == driver.Done {
			m.told(op, results[0])
			if err = s.enlist(ctx, h.Holder, list); err == nil {
				s.members.set(m)
				return other, nil
			}
		}
		if err == nil {
			m, list, err = s.readMember(ctx, h.Holder)
		}
		if err != nil {
			s.members.drop(h.Holder)
			return nil, failed("announce", h.Holder, err)
		}
	}
}

// announcement returns the operation that makes of a member what its heartbeat says; none is needed
// for one that has left and did not live.
func (s *Session) announcement(h *protocol.Heartbeat, m *knownMember, digest string) (op driver.Op, todo bool) {
	op = driver.Op{Key: memberPrefix + h.Holder}
	same := m.token != 0 && m.digest == digest && time.Duration(m.life)*time.Microsecond == h.Life
	if h.Life > 0 && same {
		op.Renew = &driver.Renewal{Token: m.token, Holder: h.Holder, TTL: h.Life}
		return op, true
	}
	next := member{Info: h.Info, Life: h.Life.Microseconds()}
	c := &driver.Change{From: m.version, ID: s.nextID(), Keep: protocol.FormerFor + max(h.Life, 0)}
	c.Essential = m.token != 0 // who lives already is not to look dead because the store is full
	if h.Life > 0 {
		c.Leases = []driver.NewLease{{Holder: h.Holder, TTL: h.Life}}
	} else {
		now := s.clock.reckon()
		if !m.lives(now) {
			return op, false
		}
		next = member{Info: m.Info, Life: m.life, Gone: now.UnixMicro()}
	}
	if m.token != 0 {
		c.Drop = []int64{m.token}
	}
	op.Change, c.Data = c, next.encode()
	return op, true
}

func (m *member) encode() []byte {
	data, err := json.Marshal(m)
	if err != nil {
		panic(err) // bytes and numbers: it cannot fail
	}
	return data
}

// told takes in what the operation has made of the member.
func (m *knownMember) told(op driver.Op, res driver.Result) {
	if op.Renew != nil {
		m.ends = res.Now.Add(op.Renew.TTL)
		return
	}
	v := driver.Value{Version: res.Version, Data: op.Change.Data}
	if len(op.Change.Leases) > 0 {
		l := op.Change.Leases[0]
		v.Leases = []driver.Lease{{Token: res.Version.Stamp, Holder: l.Holder, Ends: res.Now.Add(l.TTL)}}
	}
	_ = m.take(v) // it was encoded a moment ago
}

// take takes in the value of the member.
func (m *knownMember) take(v driver.Value) error {
	if m.version != v.Version || v.Version == (driver.Version{}) {
		var kept member
		if v.Version != (driver.Version{}) {
			if err := json.Unmarshal(v.Data, &kept); err != nil {
				return fmt.Errorf("%w: %s%s: %w", driver.ErrRecord, memberPrefix, m.Holder, err)
			}
		}
		m.version, m.Info, m.life, m.gone, m.digest = v.Version, kept.Info, kept.Life, kept.Gone, protocol.InfoDigest(kept.Info)
	}
	m.token, m.ends = 0, time.Time{}
	life := time.Duration(m.life) * time.Microsecond
	for _, l := range v.Leases {
		if l.Holder == m.Holder && l.Token > m.token {
			if m.token, m.ends = l.Token, l.Ends; !l.Renewed.IsZero() {
				m.ends = l.Renewed.Add(life)
			}
		}
	}
	if m.LastHeartbeat = m.ends.Add(-life); m.gone != 0 {
		m.LastHeartbeat = time.UnixMicro(m.gone)
	}
	m.LastHeartbeat = m.LastHeartbeat.UTC().Truncate(time.Microsecond)
	return nil
}

// ended returns when the member's life ended: with its lease, or when it left.
func (m *knownMember) ended() time.Time {
	if m.gone != 0 {
		return time.UnixMicro(m.gone)
	}
	return m.ends
}

// enlist sees to it that the holder is on the list, and removes from it who ended long ago.
func (s *Session) enlist(ctx context.Context, holder string, list memberList) error {
	for try := 0; !list.has(holder); try++ {
		s.pause(ctx, try)
		all, now, err := s.readMembers(ctx)
		if err != nil {
			return err
		}
		_, list = s.members.get(holder)
		next := memberList{Holders: []string{holder}}
		_, former := divide(all, now)
		for _, m := range all {
			if m.Holder != holder && (m.lives(now) || slices.Contains(former, m)) {
				next.Holders = append(next.Holders, m.Holder)
			}
		}
		slices.Sort(next.Holders)
		data, err := json.Marshal(next)
		if err != nil {
			return err
		}
		results, err := s.doAll(ctx, driver.Op{Key: memberPrefix, Change: &driver.Change{From: list.version, ID: s.nextID(), Data: data}})
		if err != nil {
			return err
		}
		if results[0].Status == driver.Done {
			next.version = results[0].Version
			list = next
			s.members.setList(list)
		}
	}
	return nil
}

// divide returns those that live, sorted by holder, and those that did, the newest first.
func divide(all []*knownMember, now time.Time) (living, former []*knownMember) {
	for _, m := range all {
		switch {
		case m.lives(now):
			living = append(living, m)
		case m.version != (driver.Version{}) && m.ended().After(now.Add(-protocol.FormerFor)):
			former = append(former, m)
		}
	}
	slices.SortFunc(living, func(a, b *knownMember) int { return cmp.Compare(a.Holder, b.Holder) })
	slices.SortFunc(former, func(a, b *knownMember) int {
		return cmp.Or(b.LastHeartbeat.Compare(a.LastHeartbeat), cmp.Compare(a.Holder, b.Holder))
	})
	return living, former[:min(len(former), protocol.MaxFormer)]
}

// Members implements [protocol.Store].
func (s *Session) Members(ctx context.Context) ([]protocol.Member, error) {
	return s.MembersBut(ctx, nil)
}

// MembersBut implements [protocol.Store].
func (s *Session) MembersBut(ctx context.Context, known map[string]string) ([]protocol.Member, error) {
	list, _, err := s.membersBut(ctx, known)
	return list, err
}

func (s *Session) membersBut(ctx context.Context, known map[string]string) (list []protocol.Member, version string, err error) {
	all, now, err := s.readMembers(ctx)
	if err != nil {
		return nil, "", fmt.Errorf("members: %w", err)
	}
	living, _ := divide(all, now)
	for _, m := range living {
		next := m.Member
		next.Remaining = m.ends.Sub(now)
		if next.Known = known[m.Holder] == m.digest; next.Known {
			next.Info = nil
		}
		list = append(list, next)
	}
	return list, protocol.MembersVersion(list, known), nil
}

// FormerMembers implements [protocol.Store].
func (s *Session) FormerMembers(ctx context.Context) ([]protocol.Member, error) {
	all, now, err := s.readMembers(ctx)
	if err != nil {
		return nil, fmt.Errorf("former members: %w", err)
	}
	_, former := divide(all, now)
	var list []protocol.Member
	for _, m := range former {
		list = append(list, m.Member)
	}
	return list, nil
}

// Heartbeat implements [protocol.Store].
func (s *Session) Heartbeat(ctx context.Context, h protocol.Heartbeat) (p protocol.Pulse, err error) {
	if err := h.Validate(); err != nil {
		return p, err
	}
	if p.Now, p.Since, err = s.Time(ctx); err != nil {
		return p, fmt.Errorf("heartbeat of %s: %w", h.Holder, err)
	}
	if p.Now.Before(h.NotBefore) || !h.NotAfter.IsZero() && p.Now.After(h.NotAfter) {
		p.OutOfBounds = true
		return p, nil
	}
	if p.Other, err = s.announce(ctx, &h); err != nil {
		return p, err
	}
	p.Members, p.Version, err = s.membersBut(ctx, h.Known)
	if p.Version == h.Version {
		p.Members = nil
	}
	return p, err
}
