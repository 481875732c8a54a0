package redislease

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/solotick/solotick/lease/protocol"
)

func (s *Store) memberKeys() []string {
	return []string{s.fleetKey(":members"), s.fleetKey(":heard"), s.fleetKey(":former")}
}

// Announce implements [protocol.Roster].
func (s *Store) Announce(ctx context.Context, holder string, info []byte, life time.Duration) error {
	if !protocol.ValidName(holder) {
		return fmt.Errorf("redislease: holder %q %s", holder, protocol.NameRule)
	}
	if len(info) > protocol.MaxInfo {
		return fmt.Errorf("redislease: %d bytes about %s, must be at most %d", len(info), holder, protocol.MaxInfo)
	}
	_, err := s.router.do(ctx, announceScript.command(ctx, s.memberKeys(),
		holder, max(0, life.Milliseconds()), info, protocol.FormerFor.Milliseconds(), protocol.MaxFormer))
	if err != nil {
		return fmt.Errorf("announce %s: %w", holder, err)
	}
	return nil
}

// Members implements [protocol.Roster].
func (s *Store) Members(ctx context.Context) ([]protocol.Member, error) {
	list, err := s.members(ctx, "members")
	slices.SortFunc(list, func(a, b protocol.Member) int { return cmp.Compare(a.Holder, b.Holder) })
	return list, err
}

// FormerMembers implements [protocol.MemberHistory].
func (s *Store) FormerMembers(ctx context.Context) ([]protocol.Member, error) {
	list, err := s.members(ctx, "former members", 1)
	slices.SortFunc(list, func(a, b protocol.Member) int {
		return cmp.Or(b.Heard.Compare(a.Heard), cmp.Compare(a.Holder, b.Holder))
	})
	return list, err
}

func (s *Store) members(ctx context.Context, what string, former ...any) ([]protocol.Member, error) {
	cmd, err := s.router.do(ctx, membersScript.command(ctx, s.memberKeys(),
		append([]any{protocol.FormerFor.Milliseconds(), protocol.MaxFormer}, former...)...))
	var r []any
	if err == nil {
		r, err = cmd.Slice()
	}
	if err == nil && len(r)%3 != 1 {
		err = errReply
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	list := make([]protocol.Member, 0, len(r)/3)
	for i := 1; i < len(r); i += 3 {
		ends, info, _ := strings.Cut(text(r[i+1]), " ")
		end, err := strconv.ParseInt(ends, 10, 64)
		heard, fault := strconv.ParseFloat(text(r[i+2]), 64) // a score
		if err = cmp.Or(err, fault); err != nil {
			return nil, fmt.Errorf("%s: %w: %q %q", what, errReply, r[i+1], r[i+2])
		}
		m := protocol.Member{Holder: text(r[i]), Info: []byte(info), Left: max(0, time.Duration(end-number(r[0]))*time.Microsecond)}
		if heard != 0 {
			m.Heard = time.UnixMicro(int64(heard)).UTC()
		}
		list = append(list, m)
	}
	return list, nil
}
