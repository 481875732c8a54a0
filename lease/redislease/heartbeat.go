package redislease

import (
	"context"
	"fmt"

	"github.com/solotick/solotick/internal/protocol"
)

// Heartbeat implements [protocol.Store]. It is one round trip, and more only where the
// members are to be read.
func (s *store) Heartbeat(ctx context.Context, h protocol.Heartbeat) (protocol.Pulse, error) {
	if err := h.Validate(); err != nil {
		return protocol.Pulse{}, err
	}
	p, err := s.heartbeat(ctx, &h)
	if err == nil && !p.OutOfBounds && (h.Version == "" || p.Version != h.Version) {
		p.Members, p.Version, err = s.membersBut(ctx, h.Known)
	}
	if err != nil {
		s.stay(ctx, h.Holder, h.Life, err)
		return protocol.Pulse{}, fmt.Errorf("heartbeat of %s: %w", h.Holder, err)
	}
	return p, nil
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
