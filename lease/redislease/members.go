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

func (s *store) memberKeys() []string {
	return []string{s.fleetKey(":members"), s.fleetKey(":heard"), s.fleetKey(":former"), s.fleetKey(":alive"), s.fleetKey(":changed")}
}

// SendHeartbeat implements [protocol.Store].
func (s *store) SendHeartbeat(ctx context.Context, holder string, info []byte, life time.Duration) error {
	if err := protocol.CheckMember(holder, info); err != nil {
		return err
	}
	_, err := s.router.do(ctx, announceScript.command(ctx, s.memberKeys(),
		holder, max(0, life.Milliseconds()), info, protocol.FormerFor.Milliseconds(), protocol.MaxFormer))
	if err != nil {
		s.stay(ctx, holder, life, err)
		return fmt.Errorf("announce %s: %w", holder, err)
	}
	return nil
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
	list, err := s.members(ctx, "members")
	slices.SortFunc(list, func(a, b protocol.Member) int { return cmp.Compare(a.Holder, b.Holder) })
	return list, err
}

// FormerMembers implements [protocol.Store].
func (s *store) FormerMembers(ctx context.Context) ([]protocol.Member, error) {
	list, err := s.members(ctx, "former members", 1)
	slices.SortFunc(list, func(a, b protocol.Member) int {
		return cmp.Or(b.LastHeartbeat.Compare(a.LastHeartbeat), cmp.Compare(a.Holder, b.Holder))
	})
	return list, err
}

func (s *store) members(ctx context.Context, what string, former ...any) ([]protocol.Member, error) {
	cmd, err := s.router.do(ctx, membersScript.command(ctx, s.memberKeys(),
		append([]any{protocol.FormerFor.Milliseconds(), protocol.MaxFormer}, former...)...))
	var r []any
	if err == nil {
		r, err = cmd.Slice()
	}
	if err == nil && len(r)%4 != 1 {
		err = errReply
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	list := make([]protocol.Member, 0, len(r)/4)
	for i := 1; i < len(r); i += 4 {
		end, err := strconv.ParseFloat(text(r[i+1]), 64) // scores
		received, fault := strconv.ParseFloat(text(r[i+3]), 64)
		if err = cmp.Or(err, fault); err != nil {
			return nil, fmt.Errorf("%s: %w: %q %q", what, errReply, r[i+1], r[i+3])
		}
		m := protocol.Member{Holder: text(r[i]), Info: []byte(text(r[i+2])), Remaining: max(0, time.Duration(int64(end)-number(r[0]))*time.Microsecond)}
		if received != 0 {
			m.LastHeartbeat = time.UnixMicro(int64(received)).UTC()
		}
		list = append(list, m)
	}
	return list, nil
}
