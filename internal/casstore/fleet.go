package casstore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/driver"
)

// keptMember is the value of a member. Its info is kept apart when it is long, so that a
// heartbeat writes little.
type keptMember struct {
	Heartbeat, Ends int64 // Unix microseconds
	Digest          string
	Info            []byte `json:",omitempty"`
	Parts           int    `json:",omitempty"` // how many parts the info has
}

const (
	mostInfo = 4 << 10   // in the value of the member itself
	partSize = 256 << 10 // of longer ones
)

// keptPart is a part of what a member says.
type keptPart struct {
	At   int64 // when it was written, in Unix microseconds
	Data []byte
}

func partKey(holder, digest string, i int) string {
	return partPrefix + holder + "/" + digest + "/" + strconv.Itoa(i)
}

// SendHeartbeat implements [protocol.Membership].
func (s *Store) SendHeartbeat(ctx context.Context, holder string, info []byte, life time.Duration) error {
	if err := protocol.CheckMember(holder, info); err != nil {
		return err
	}
	v := s.values
	ctx, cancel, err := v.within(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	if life > 0 {
		err = v.announce(ctx, holder, bytes.Clone(info), life)
	} else {
		err = v.takeOff(ctx, holder)
	}
	return v.failed(ctx, err)
}

func (v *values) announce(ctx context.Context, holder string, info []byte, life time.Duration) error {
	digest := protocol.InfoDigest(info)
	there := "" // the digest of which the parts are there
	return v.update(ctx, memberPrefix+holder, func(kept []byte, now time.Time) ([]byte, error) {
		var before keptMember
		if readable(kept, &before) && before.Parts > 0 {
			there = before.Digest
		}
		m := keptMember{Heartbeat: now.UnixMicro(), Ends: now.Add(life).UnixMicro(), Digest: digest}
		if len(info) <= mostInfo {
			m.Info = info
			return json.Marshal(m)
		}
		for part := range slices.Chunk(info, partSize) {
			if there != digest {
				text, err := json.Marshal(keptPart{now.UnixMicro(), part})
				if err != nil {
					return nil, err
				}
				err = v.update(ctx, partKey(holder, digest, m.Parts), func([]byte, time.Time) ([]byte, error) { return text, nil })
				if err != nil {
					return nil, err
				}
			}
			m.Parts++
		}
		there = digest
		return json.Marshal(m)
	})
}

func (v *values) takeOff(ctx context.Context, holder string) error {
	return v.update(ctx, memberPrefix+holder, func(kept []byte, now time.Time) ([]byte, error) {
		var m keptMember
		if !readable(kept, &m) || m.Ends <= now.UnixMicro() {
			return nil, nil
		}
		m.Heartbeat, m.Ends = now.UnixMicro(), now.UnixMicro()
		return json.Marshal(m)
	})
}

// Members implements [protocol.Membership].
func (s *Store) Members(ctx context.Context) ([]protocol.Member, error) {
	return s.MembersBut(ctx, nil)
}

// MembersBut implements [protocol.KnownMembers].
func (s *Store) MembersBut(ctx context.Context, known map[string]string) ([]protocol.Member, error) {
	return s.values.members(ctx, known, func(all []found, now time.Time) []found {
		return slices.DeleteFunc(all, func(f found) bool { return f.Ends <= now.UnixMicro() })
	})
}

// FormerMembers implements [protocol.MemberHistory].
func (s *Store) FormerMembers(ctx context.Context) ([]protocol.Member, error) {
	return s.values.members(ctx, nil, func(all []found, now time.Time) []found {
		former, _ := formerOf(all, now)
		return former
	})
}

// found is a member with its name.
type found struct {
	keptMember
	holder   string
	revision uint64
}

// formerOf returns the former members that are kept, and those that are not.
func formerOf(all []found, now time.Time) (kept, over []found) {
	kept = slices.DeleteFunc(slices.Clone(all), func(f found) bool { return f.Ends > now.UnixMicro() })
	slices.SortFunc(kept, func(a, b found) int {
		return cmp.Or(cmp.Compare(b.Heartbeat, a.Heartbeat), cmp.Compare(a.holder, b.holder))
	})
	for i, f := range kept {
		if i >= protocol.MaxFormer || f.Ends <= now.Add(-protocol.FormerFor).UnixMicro() {
			over = append(over, f)
		}
	}
	kept = slices.DeleteFunc(kept, func(f found) bool {
		return slices.ContainsFunc(over, func(o found) bool { return o.holder == f.holder })
	})
	return kept, over
}

// members reads those that which chooses.
func (v *values) members(ctx context.Context, known map[string]string, which func(all []found, now time.Time) []found) ([]protocol.Member, error) {
	ctx, cancel, err := v.within(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	at, err := v.now(ctx)
	if err != nil {
		return nil, v.failed(ctx, err)
	}
	all, err := v.allMembers(ctx)
	if err != nil {
		return nil, v.failed(ctx, err)
	}
	var list []protocol.Member
	for _, f := range which(all, at.fleet) {
		m := protocol.Member{
			Holder: f.holder, LastHeartbeat: time.UnixMicro(f.Heartbeat).UTC(),
			Remaining: max(0, time.UnixMicro(f.Ends).Sub(at.fleet)), Known: known[f.holder] == f.Digest,
		}
		if !m.Known {
			if m.Info, err = v.info(ctx, f); err != nil {
				return nil, v.failed(ctx, err)
			}
		}
		list = append(list, m)
	}
	return list, nil
}

// allMembers reads all that are kept, sorted by holder.
func (v *values) allMembers(ctx context.Context) ([]found, error) {
	var all []found
	for cursor := ""; ; {
		keys, next, err := v.medium.Keys(ctx, memberPrefix, cursor, 256)
		if err != nil {
			return nil, err
		}
		list, err := v.medium.Get(ctx, keys)
		if err != nil {
			return nil, err
		}
		for i, key := range keys {
			f := found{holder: strings.TrimPrefix(key, memberPrefix), revision: list[i].Revision}
			if f.revision == 0 {
				continue
			}
			if err := json.Unmarshal(list[i].Data, &f.keptMember); err != nil {
				return nil, fmt.Errorf("%w: %s: %w", driver.ErrRecord, key, err)
			}
			all = append(all, f)
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	slices.SortFunc(all, func(a, b found) int { return cmp.Compare(a.holder, b.holder) })
	return slices.CompactFunc(all, func(a, b found) bool { return a.holder == b.holder }), nil
}

// info returns what a member says.
func (v *values) info(ctx context.Context, f found) ([]byte, error) {
	if f.Parts == 0 {
		return f.Info, nil
	}
	keys := make([]string, f.Parts)
	for i := range keys {
		keys[i] = partKey(f.holder, f.Digest, i)
	}
	list, err := v.medium.Get(ctx, keys)
	if err != nil {
		return nil, err
	}
	var info []byte
	for i, kept := range list {
		var part keptPart
		if err := json.Unmarshal(kept.Data, &part); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", driver.ErrRecord, keys[i], err)
		}
		info = append(info, part.Data...)
	}
	return info, nil
}

// sweepMembers removes former members that are not kept any more.
func (v *values) sweepMembers(ctx context.Context, now time.Time) {
	all, err := v.allMembers(ctx)
	if err != nil {
		return
	}
	_, over := formerOf(all, now)
	for _, f := range over {
		if _, _, err := v.medium.Put(ctx, memberPrefix+f.holder, nil, f.revision); err != nil {
			return
		}
	}
}
