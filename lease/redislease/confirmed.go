package redislease

import (
	"context"
	"sync/atomic"

	"github.com/solotick/solotick/internal/protocol"
)

// confirmedAs calls a verb about a name. Where replicas have to confirm it, a change may have been
// made before, by a request whose answer was lost or not confirmed. It then changes nothing, and
// the present value is confirmed.
func (s *Store) confirmedAs(ctx context.Context, name string, verb func(ctx context.Context) error) error {
	if s.abandonedClaims == nil {
		return verb(ctx)
	}
	var made atomic.Bool
	if err := verb(context.WithValue(ctx, changeMade{}, &made)); err != nil || made.Load() {
		return err
	}
	return s.values.confirm(ctx, name)
}

// Skip implements [protocol.Store].
func (s *Store) Skip(ctx context.Context, p protocol.Skip) (watermark int64, passed bool, err error) {
	if err := s.confirmedAs(ctx, p.Name, func(ctx context.Context) (err error) {
		watermark, passed, err = s.Session.Skip(ctx, p)
		return err
	}); err != nil {
		return 0, false, err
	}
	return watermark, passed, nil
}

// Cancel implements [protocol.Store].
func (s *Store) Cancel(ctx context.Context, c protocol.Cancel) (a protocol.Cancelled, err error) {
	if err := s.confirmedAs(ctx, c.Name, func(ctx context.Context) (err error) {
		a, err = s.Session.Cancel(ctx, c)
		return err
	}); err != nil {
		return protocol.Cancelled{}, err
	}
	return a, nil
}
