package memlease

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/solotick/solotick/internal/protocol"
)

// Heartbeat implements [protocol.Heartbeater].
func (s *Store) Heartbeat(ctx context.Context, h protocol.Heartbeat) (p protocol.Pulse, err error) {
	if err := h.Validate(); err != nil {
		return p, err
	}
	if p.Now, p.Since, err = s.Time(ctx); err != nil {
		return p, err
	}
	if p.Now.Before(h.NotBefore) || !h.NotAfter.IsZero() && p.Now.After(h.NotAfter) {
		p.OutOfBounds = true
		return p, nil
	}
	s.mu.Lock()
	if m := s.members[h.Holder]; h.Before != "" && m.ends.After(p.Now) && protocol.InfoDigest(m.info) != h.Before {
		p.Other = m.info
	}
	s.mu.Unlock()
	if err := s.SendHeartbeat(ctx, h.Holder, h.Info, h.Life); err != nil {
		return p, err
	}
	if p.Members, err = s.Members(ctx); err != nil {
		return p, err
	}
	if p.Version = versionOf(p.Members); p.Version == h.Version {
		p.Members = nil
		return p, nil
	}
	leaveOutKnown(p.Members, h.Known)
	return p, nil
}

func versionOf(members []protocol.Member) string {
	sum := sha256.New()
	for _, m := range members {
		_, _ = fmt.Fprintln(sum, m.Holder, protocol.InfoDigest(m.Info))
	}
	return hex.EncodeToString(sum.Sum(nil))
}
