package scheduler

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/sleep"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs/schedule"
)

// mostDecided bounds the records that are brought back after the store went back in time, and
// broughtBack is how long replicas take for that.
const mostDecided, broughtBack = 4096, 500 * time.Millisecond

// remember keeps up to which tick a record that is dropped is decided.
func (l *loader) remember(name string, watermark int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for other := range l.decided {
		if len(l.decided) < mostDecided {
			break
		}
		delete(l.decided, other) // any
	}
	l.decided[name] = watermark
}

// suspect notes that the store was away, and may have gone back in time.
func (l *loader) suspect() {
	l.suspected.Add(1)
	l.wanted.Set()
}

// isReturning reports whether the store may lack what was known of it.
func (l *loader) isReturning() bool { return l.suspected.Load() != l.returned.Load() }

// bringBack has the store take back which ticks this replica has decided lately, if it has lost that. It
// returns when the other replicas have done so, too.
func (l *loader) bringBack(ctx context.Context) {
	until := time.Now().Add(broughtBack)
	l.mu.Lock()
	decided := maps.Clone(l.decided)
	l.mu.Unlock()
	l.each(func(c *contender) { decided[c.Name] = c.Cursor.Watermark })
	for part := range slices.Chunk(slices.Collect(maps.Keys(decided)), protocol.MaxSummaries) {
		l.get(part, func(k *protocol.Keyed) {
			if k.Revision != "" && (k.Watermark < decided[k.Name] || len(k.Open) > 0) {
				l.plan(k, k.Due) // it is written with what this replica knows
			}
		})
	}
	sleep.For(ctx, time.Until(until))
}

// leave leaves alone for a while what cannot be read here. If no other replica has done anything about
// it either, it is out of the way of others in the index for as long.
func (l *loader) leave(k *protocol.Keyed, err error) {
	l.unreadable(err)
	now := time.Now()
	maps.DeleteFunc(l.left, func(_ string, until time.Time) bool { return now.After(until) })
	l.left[k.Name] = now.Add(unreadableFor)
	if at := l.clock.Now(); k.Err == nil && at.Sub(k.Look) > unreadableFor {
		l.plan(k, at.Add(unreadableFor).UnixMilli())
	}
}

// scheduleOf returns the ticks of a record.
func (l *loader) scheduleOf(k *protocol.Keyed) (*schedule.Schedule, error) {
	if k.Err != nil || k.Withdrawn || len(k.Schedules) == 0 {
		return noTicks, k.Err
	}
	text := k.Schedules[len(k.Schedules)-1].Text
	l.mu.Lock()
	s := l.parsed[text]
	l.mu.Unlock()
	if s == nil {
		var err error
		if s, err = wire.ParseSchedule(k.Name, text); err != nil {
			return nil, err
		}
		if !strings.Contains(s.String(), "H") { // else it depends on the name
			l.mu.Lock()
			if len(l.parsed) >= mostParsed {
				clear(l.parsed)
			}
			l.parsed[text] = s
			l.mu.Unlock()
		}
	}
	if k.Start.IsZero() && k.End.IsZero() {
		return s, nil
	}
	return s.Within(k.Start, k.End), nil
}

var noTicks, _ = schedule.Parse("@triggered", nil, "")

// readLocked applies a record with a schedule. Ticks that were due before the job was resumed are
// skipped.
func (c *contender) readLocked(k *protocol.Keyed, resumed time.Time) {
	if k.Resumed.Before(resumed) {
		k.Resumed = resumed
	}
	_, skipped := c.Read(k.Record, c.s.remembersSince().UnixMilli(), c.s.clock.Ms())
	c.skippedLocked(skipped...)
}

// restsLocked reports whether nothing of a stored schedule is due soon.
func restsLocked(c *contender) bool {
	if c.active || c.Pending != nil || len(c.Running)+len(c.Open) > 0 || c.working.Load() > 0 || c.Room.IsShort() || !c.Record.IsRead() {
		return false
	}
	step := c.stepLocked(c.s.clock.Ms())
	return step.At == 0 || step.At > c.s.clock.Ms()+restsFor
}

// leaveLocked drops the contender of a stored schedule if nothing of it is due soon.
func (c *contender) leaveLocked() {
	if c.base != nil && !c.gone && restsLocked(c) {
		c.removeLocked()
		c.s.loader.drop(c)
		c.s.loader.remember(c.Name, c.Cursor.Watermark)
	}
}
