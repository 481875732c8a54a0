package lease

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/steady"
)

// Checkpoint is where the work on a tick is, for the holder that is granted it next.
type Checkpoint struct {
	Data     []byte // at most 4 KiB
	Percent  int    // how much is done, from 0 to 100
	Text     string // what is being done, for people; cut to 256 bytes of UTF-8
	Revision string // of the program or the definition that made it
}

// ErrCheckpoints is returned for a checkpoint for which the open ticks of the name leave no room:
// all of theirs may have 64 KiB.
var ErrCheckpoints = protocol.ErrCheckpoints

// points are the checkpoints of a lease, guarded by renewer.mu.
type points struct {
	newest  protocol.Checkpoint
	made    int            // so many
	dirty   bool           // the newest is not written
	since   steady.Instant // when the oldest that is not written was made
	kept    bool           // the store may have one of the tick
	last    error          // what the last write failed with
	waiting []chan error   // of those that wait for the next write
}

// Checkpoint keeps c in place of the tick's checkpoint before. The store has it within a third of
// the TTL, or when [Lease.Sync] returns. All that a renewer has to write travels in one call of the
// store, apart from the renewals.
//
// Once the lease's context has ended, Checkpoint returns its cause and keeps nothing. The error
// also matches [ErrFenced] if the lease was lost. Any other error but that of a faulty c is that of
// earlier checkpoints, which are not written a third of the TTL after they were made. Then c is kept
// in memory, and written when that works again.
func (l *Lease) Checkpoint(ctx context.Context, c Checkpoint) error {
	p := protocol.Checkpoint{
		Name: l.grant.Name, Tick: l.grant.Tick, Token: l.grant.Token,
		Data: bytes.Clone(c.Data), Percent: c.Percent, Text: c.Text, Revision: c.Revision,
	}
	if err := p.Validate(); err != nil { // also of a lock, which has no tick
		return err
	}
	k := l.renewer
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := l.refused(ctx); err != nil {
		return err
	}
	if l.points == nil {
		l.points = new(points)
	}
	now := steady.Now()
	w := l.points
	if !w.dirty {
		w.dirty, w.since = true, now
	}
	w.newest, w.made = p, w.made+1
	late := w.last
	if w.since.Until(now) < l.grant.TTL/3 && !errors.Is(late, ErrCheckpoints) {
		late = nil
	}
	k.writeLocked(l, l.grant.TTL/6)
	return late
}

// Sync returns when the newest checkpoint is written, or with the error of that. Once the lease's
// context has ended it returns what Checkpoint does.
func (l *Lease) Sync(ctx context.Context) error {
	k := l.renewer
	k.mu.Lock()
	if err := l.refused(ctx); err != nil || l.points == nil || !l.points.dirty {
		k.mu.Unlock()
		return err
	}
	written := k.awaitLocked(l)
	k.mu.Unlock()
	select {
	case err := <-written:
		return err
	case <-ctx.Done():
		return l.refused(ctx)
	}
}

// refused returns the error of a checkpoint that must not be kept, or nil.
func (l *Lease) refused(ctx context.Context) error {
	cause := context.Cause(l.ctx)
	switch {
	case cause == nil && !l.Valid():
		return ErrFenced
	case errors.Is(cause, ErrLost):
		return fmt.Errorf("%w: %w", ErrFenced, cause)
	case cause != nil:
		return cause
	}
	return context.Cause(ctx)
}

// Position returns the newest checkpoint of the tick: the last one under this lease, else the one
// that an earlier attempt has left in the store; the zero Checkpoint if there is none.
func (l *Lease) Position(ctx context.Context) (Checkpoint, error) {
	k := l.renewer
	k.mu.Lock()
	w := l.points
	if w != nil || l.grant.Attempt <= 1 {
		defer k.mu.Unlock()
		return w.position(), nil
	}
	k.mu.Unlock()
	list, err := k.store.Checkpoints(ctx, l.grant.Name)
	if err != nil {
		return Checkpoint{}, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if l.points == nil {
		l.points = new(points)
		for _, c := range list {
			if c.Tick == l.grant.Tick && c.Token <= l.grant.Token {
				l.points.newest, l.points.kept = c, true
			}
		}
	}
	return l.points.position(), nil
}

func (w *points) position() Checkpoint {
	if w == nil {
		return Checkpoint{}
	}
	c := w.newest
	return Checkpoint{Data: bytes.Clone(c.Data), Percent: c.Percent, Text: c.Text, Revision: c.Revision}
}

// answer answers those that wait for a write.
func (w *points) answer(err error) {
	for _, c := range w.waiting {
		c <- err
	}
	w.waiting = nil
}

// writeLast has what is not written yet written, before the tick is given up or settled. It waits
// for that, but for a moment only: a store that does not take it must still take the end.
func (l *Lease) writeLast(ctx context.Context) {
	k := l.renewer
	k.mu.Lock()
	if l.points == nil || !l.points.dirty || l.index < 0 {
		k.mu.Unlock()
		return
	}
	written := k.awaitLocked(l)
	k.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, min(l.grant.TTL/6, time.Second))
	defer cancel()
	select {
	case <-written: //nolint:errcheck // the end counts
	case <-ctx.Done():
	}
}

// clearFor is for how long it is tried to remove a checkpoint that nobody needs any more.
const clearFor = time.Minute

// clear has the checkpoint of a tick that has succeeded removed.
func (l *Lease) clear() {
	k := l.renewer
	k.mu.Lock()
	defer k.mu.Unlock()
	if w := l.points; w != nil && w.kept {
		w.newest = protocol.Checkpoint{Name: l.grant.Name, Tick: l.grant.Tick, Token: l.grant.Token, Clear: true}
		w.dirty, w.since = true, steady.Now()
		k.writeLocked(l, 0)
	}
}

// awaitLocked has the checkpoint of l written now, and returns a channel that gets the result.
func (k *Renewer) awaitLocked(l *Lease) <-chan error {
	written := make(chan error, 1)
	l.points.waiting = append(l.points.waiting, written)
	k.writeLocked(l, 0)
	return written
}

// writeLocked has the checkpoint of l written within that time. One call of the store is under way
// at a time: what comes meanwhile travels in the next.
func (k *Renewer) writeLocked(l *Lease, within time.Duration) {
	if k.unwritten == nil {
		k.unwritten = make(map[*Lease]struct{})
	}
	k.unwritten[l] = struct{}{}
	k.armWriterLocked(within)
}

func (k *Renewer) armWriterLocked(within time.Duration) {
	at := steady.Now().Add(within)
	switch {
	case k.writing || k.writes != 0 && k.writes <= at:
		return
	case k.writer == nil:
		k.writer = time.AfterFunc(within, k.write)
	default:
		k.writer.Reset(within)
	}
	k.writes = at
}

// write writes checkpoints until nobody waits for one.
func (k *Renewer) write() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.writes = 0
	if k.writing {
		return
	}
	k.writing = true
	k.looks++
	for again := len(k.unwritten) > 0; again; {
		k.writeOnceLocked()
		again = false
		for l := range k.unwritten {
			again = again || len(l.points.waiting) > 0
		}
	}
	k.writing = false
	for l := range k.unwritten {
		k.armWriterLocked(l.grant.TTL / 6)
	}
	k.lookedLocked()
}

// writeOnceLocked writes all that is not written by now in one call, without the lock.
func (k *Renewer) writeOnceLocked() {
	type written struct {
		l       *Lease
		made    int
		waiting []chan error
	}
	var batch []written
	var list []protocol.Checkpoint
	timeout, now := time.Minute, steady.Now()
	for l := range k.unwritten {
		w := l.points
		c := w.newest
		c.Remaining = now.Until(l.end())
		list, batch = append(list, c), append(batch, written{l, w.made, w.waiting})
		w.kept, w.waiting, timeout = true, nil, min(timeout, l.grant.TTL/6)
	}
	sends := k.sendsLocked()
	k.mu.Unlock()
	ctx, cancel := context.WithTimeout(sends, max(timeout, 10*time.Millisecond))
	answers := k.store.Checkpoint(ctx, list)
	cancel()
	k.mu.Lock()
	for i, b := range batch {
		l, w, err := b.l, b.l.points, answers[i]
		over := list[i].Clear && w.since.Until(now) > clearFor
		if w.last = err; over || err == nil && w.made == b.made && w.newest.Clear == list[i].Clear {
			w.dirty = false
			delete(k.unwritten, l)
		} else if err == nil {
			w.since = now
		}
		if errors.Is(err, ErrFenced) && !list[i].Clear {
			k.dropLocked(l, l.lostLocked(protocol.LostFenced))
			err = l.refused(l.ctx)
		}
		for _, c := range b.waiting {
			c <- err
		}
	}
}
