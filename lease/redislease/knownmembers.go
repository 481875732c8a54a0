package redislease

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

var (
	//go:embed lua/members_known.lua
	membersKnownSource string
	//go:embed lua/members_info.lua
	membersInfoSource string

	membersKnownScript = newScript("#!lua flags=allow-oom", clockSource, formerSource, membersKnownSource)
	membersInfoScript  = newScript("#!lua flags=no-writes,allow-oom", membersInfoSource)
)

// MembersBut implements [protocol.Store]: with a second round trip where a member's
// information is not known.
func (s *store) MembersBut(ctx context.Context, known map[string]string) ([]protocol.Member, error) {
	list, _, err := s.membersBut(ctx, known)
	return list, err
}

func (s *store) membersBut(ctx context.Context, known map[string]string) (list []protocol.Member, version string, err error) {
	cmd, err := s.router.do(ctx, membersKnownScript.command(ctx, s.memberKeys(), protocol.FormerFor.Milliseconds(), protocol.MaxFormer))
	var answer string
	if err == nil {
		answer, err = cmd.Text()
	}
	if err != nil {
		return nil, "", fmt.Errorf("members: %w", err)
	}
	version, lines, _ := strings.Cut(answer, "\n")
	var news []any // their holders
	for line := range strings.Lines(lines) {
		m, digest, err := readKnown(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, "", fmt.Errorf("members: %w", err)
		}
		if m.Known = known[m.Holder] == digest; !m.Known {
			news = append(news, m.Holder)
		}
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b protocol.Member) int { return cmp.Compare(a.Holder, b.Holder) })
	if len(news) > 0 {
		list, err = s.withInfos(ctx, list, news)
	}
	return list, version, err
}

// withInfos fills in what the holders say about themselves. Those that have left meanwhile are no
// members.
func (s *store) withInfos(ctx context.Context, list []protocol.Member, holders []any) ([]protocol.Member, error) {
	cmd, err := s.router.do(ctx, membersInfoScript.command(ctx, s.memberKeys()[:1], holders...))
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

// readKnown reads a line of members_known.lua.
func readKnown(line string) (m protocol.Member, digest string, err error) {
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
