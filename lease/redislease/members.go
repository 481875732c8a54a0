package redislease

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// Members have scripts of their own: a heartbeat is one command, and its answer is short while the
// members stay the same. As values (see package engine) it is three, and it reads every member.

func (s *store) memberKeys() []string {
	return []string{s.fleetKey(":members"), s.fleetKey(":heard"), s.fleetKey(":former"), s.fleetKey(":alive"), s.fleetKey(":changed")}
}

// Heartbeat implements [protocol.Store]. It is one round trip, and more only where the members are
// to be read.
func (s *store) Heartbeat(ctx context.Context, h protocol.Heartbeat) (protocol.Pulse, error) {
	if err := h.Validate(); err != nil {
		return protocol.Pulse{}, err
	}
	p, err := s.heartbeat(ctx, &h)
	if err == nil && !p.OutOfBounds && (h.Version == "" || p.Version != h.Version) {
		p.Members, p.Version, err = s.membersBut(ctx, h.Known, false)
	}
	if err != nil {
		s.stay(ctx, h.Holder, h.Life, err)
		return protocol.Pulse{}, fmt.Errorf("heartbeat of %s: %w", h.Holder, err)
	}
	return p, nil
}

// SendHeartbeat implements [protocol.Store].
func (s *store) SendHeartbeat(ctx context.Context, holder string, info []byte, life time.Duration) error {
	if err := protocol.CheckMember(holder, info); err != nil {
		return err
	}
	if _, err := s.heartbeat(ctx, &protocol.Heartbeat{Holder: holder, Info: info, Life: max(0, life)}); err != nil {
		s.stay(ctx, holder, life, err)
		return fmt.Errorf("announce %s: %w", holder, err)
	}
	return nil
}

func (s *store) heartbeat(ctx context.Context, h *protocol.Heartbeat) (p protocol.Pulse, err error) {
	s.router.probe()
	after := s.notes.after()
	keys := append(s.memberKeys(), s.fleetKey(""), s.fleetKey(":triggered"))
	cmd, err := s.router.do(ctx, heartbeatScript.command(ctx, keys,
		h.Holder, h.Life.Milliseconds(), h.Info, protocol.FormerFor.Milliseconds(), protocol.MaxFormer, format, after,
		ceilMicro(h.NotBefore), floorMicro(h.NotAfter), h.Before))
	if err != nil {
		return p, err
	}
	r, err := cmd.Slice()
	if err != nil {
		return p, err
	}
	if p.Now, p.Since, err = s.values.readTime(r, after); err != nil {
		return p, err
	}
	switch {
	case len(r) == 3:
		p.OutOfBounds = true
	case len(r) > 4:
		p.Other = []byte(text(r[4]))
		fallthrough
	default:
		p.Version = text(r[3])
	}
	return p, nil
}

// stay keeps a member alive whose heartbeat was refused because Redis is full: it lives, and says
// what it said last.
func (s *store) stay(ctx context.Context, holder string, life time.Duration, refused error) {
	if strings.HasPrefix(refused.Error(), "OOM ") && life > 0 {
		_, _ = s.router.do(ctx, stayScript.command(ctx, s.memberKeys(), holder, life.Milliseconds(), protocol.FormerFor.Milliseconds()))
	}
}

// Members implements [protocol.Store].
func (s *store) Members(ctx context.Context) ([]protocol.Member, error) {
	return s.MembersBut(ctx, nil)
}

// MembersBut implements [protocol.Store]: with a second round trip where a member's information is
// not known.
func (s *store) MembersBut(ctx context.Context, known map[string]string) ([]protocol.Member, error) {
	list, _, err := s.membersBut(ctx, known, false)
	return list, err
}

// FormerMembers implements [protocol.Store].
func (s *store) FormerMembers(ctx context.Context) ([]protocol.Member, error) {
	list, _, err := s.membersBut(ctx, nil, true)
	slices.SortFunc(list, func(a, b protocol.Member) int {
		return cmp.Or(b.LastHeartbeat.Compare(a.LastHeartbeat), cmp.Compare(a.Holder, b.Holder))
	})
	return list, err
}

// membersBut lists members, and asks for all that each says about itself if nothing is known.
func (s *store) membersBut(ctx context.Context, known map[string]string, former bool) (list []protocol.Member, version string, err error) {
	all := len(known) == 0
	cmd, err := s.router.do(ctx, membersScript.command(ctx, s.memberKeys(), protocol.FormerFor.Milliseconds(), protocol.MaxFormer, digit(former), digit(all)))
	var r []any
	if err == nil {
		r, err = cmd.Slice()
	}
	var lines []string
	if err == nil && len(r) > 0 {
		lines = strings.Split(text(r[0]), "\n")
	}
	if err == nil && (len(lines) == 0 || all && len(r) != len(lines)) {
		err = errReply
	}
	if err != nil {
		return nil, "", fmt.Errorf("members: %w", err)
	}
	var news []any // their holders
	for i, line := range lines[1:] {
		m, digest, err := readMember(line)
		if err != nil {
			return nil, "", fmt.Errorf("members: %w", err)
		}
		if all {
			m.Info = []byte(text(r[1+i]))
		} else if m.Known = known[m.Holder] == digest; !m.Known {
			news = append(news, m.Holder)
		}
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b protocol.Member) int { return cmp.Compare(a.Holder, b.Holder) })
	if len(news) > 0 {
		list, err = s.withInfos(ctx, list, news)
	}
	return list, lines[0], err
}

// withInfos fills in what the holders say about themselves. Those that have left meanwhile are no
// members.
func (s *store) withInfos(ctx context.Context, list []protocol.Member, holders []any) ([]protocol.Member, error) {
	cmd, err := s.router.do(ctx, membersInfoScript.command(ctx, []string{s.fleetKey(":members")}, holders...))
	var r []any
	if err == nil {
		r, err = cmd.Slice()
	}
	if err == nil && len(r) != len(holders) {
		err = errReply
	}
	if err != nil {
		return nil, fmt.Errorf("members: %w", err)
	}
	infos := make(map[string][]byte, len(holders))
	for i, v := range r {
		if v != nil {
			infos[text(holders[i])] = []byte(text(v))
		}
	}
	kept := list[:0]
	for _, m := range list {
		info, ok := infos[m.Holder]
		if m.Info = info; m.Known || ok {
			kept = append(kept, m)
		}
	}
	return kept, nil
}

// readMember reads a line of members.lua.
func readMember(line string) (m protocol.Member, digest string, err error) {
	f := strings.Fields(line)
	if len(f) != 4 {
		return m, "", fmt.Errorf("%w: member %q", errReply, line)
	}
	remaining, err := strconv.ParseInt(f[1], 10, 64)
	received, fault := strconv.ParseFloat(f[2], 64) // a score
	if cmp.Or(err, fault) != nil {
		return m, "", fmt.Errorf("%w: member %q", errReply, line)
	}
	m = protocol.Member{Holder: f[0], Remaining: time.Duration(remaining) * time.Microsecond}
	if received != 0 {
		m.LastHeartbeat = time.UnixMicro(int64(received)).UTC()
	}
	return m, f[3], nil
}
