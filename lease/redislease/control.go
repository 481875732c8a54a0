package redislease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/lease"
)

// Pause implements [lease.Controller].
func (s *Store) Pause(ctx context.Context, name string, p lease.Pause) (lease.Pause, error) {
	if err := errors.Join(checkName(name), p.Validate()); err != nil {
		return lease.Pause{}, err
	}
	cmd, err := s.router.do(ctx, pauseScript.command(ctx, []string{s.key(name)}, p.By, lease.Cut(p.Why, lease.MaxWhy), unixMilli(p.Until)))
	pause, err := answeredPause(cmd, err)
	if err == nil {
		_ = s.note(ctx, name, lease.Ruled) // claims tell of it, too
	}
	if err != nil {
		return lease.Pause{}, fmt.Errorf("pause %q: %w", name, outOfBounds(err, p.Until))
	}
	return *pause, nil
}

// Resume implements [lease.Controller].
func (s *Store) Resume(ctx context.Context, name string, r lease.Resume) (*lease.Pause, error) {
	if err := errors.Join(checkName(name), r.Validate()); err != nil {
		return nil, err
	}
	cmd, err := s.router.do(ctx, resumeScript.command(ctx, []string{s.key(name)}, r.By, unixMilli(r.Until)))
	pause, err := answeredPause(cmd, err)
	if err == nil {
		_ = s.note(ctx, name, lease.Ruled)
	}
	if err != nil {
		return nil, fmt.Errorf("resume %q: %w", name, outOfBounds(err, r.Until))
	}
	return pause, nil
}

func answeredPause(cmd *redis.Cmd, err error) (*lease.Pause, error) {
	text := ""
	if err == nil {
		text, err = cmd.Text()
	}
	switch {
	case errors.Is(err, redis.Nil):
		return nil, lease.ErrUnknown
	case err != nil:
		return nil, err
	}
	return readPause(text)
}

// Cancel implements [lease.Canceller].
func (s *Store) Cancel(ctx context.Context, c lease.Cancel) (lease.Cancelled, error) {
	if err := c.Validate(); err != nil {
		return lease.Cancelled{}, err
	}
	cmd, err := s.router.do(ctx, cancelScript.command(ctx, []string{s.key(c.Name)}, c.Occasion, c.By))
	if errors.Is(err, redis.Nil) {
		return lease.Cancelled{}, fmt.Errorf("cancel %q: %w", c.Name, lease.ErrUnknown)
	}
	var r []any
	if err == nil {
		r, err = cmd.Slice()
	}
	if err == nil && len(r) != 4 {
		err = fmt.Errorf("%w: %v", errReply, r)
	}
	if err != nil {
		return lease.Cancelled{}, fmt.Errorf("cancel %q: %w", c.Name, err)
	}
	return lease.Cancelled{
		Status: lease.CancelStatus(number(r[0])), By: text(r[1]), Holder: text(r[2]), Left: time.Duration(number(r[3])) * time.Microsecond,
	}, nil
}

// Repair implements [lease.Repairer].
func (s *Store) Repair(ctx context.Context, q lease.Repair) (lease.Repaired, error) {
	if err := q.Validate(); err != nil {
		return lease.Repaired{}, err
	}
	cmd, err := s.router.do(ctx, repairScript.command(ctx, []string{s.key(q.Name)}, unixMilli(q.Until)))
	if errors.Is(err, redis.Nil) {
		return lease.Repaired{}, fmt.Errorf("repair %q: %w", q.Name, lease.ErrUnknown)
	}
	r, err := readNumbers(cmd, err, 4)
	if err != nil {
		return lease.Repaired{}, fmt.Errorf("repair %q: %w", q.Name, outOfBounds(err, q.Until))
	}
	_ = s.note(ctx, q.Name, lease.Ruled) // the next sync shows it, too
	return lease.Repaired{Changed: r[0] == 1, Before: r[1], Mark: r[2], Exceptions: int(r[3])}, nil
}

// Trigger implements [lease.Controller].
func (s *Store) Trigger(ctx context.Context, t lease.Trigger) (lease.Triggered, error) {
	if err := t.Validate(); err != nil {
		return lease.Triggered{}, err
	}
	keys := []string{s.key(t.Name)}
	if t.Key != "" {
		keys = append(keys, keys[0]+":key:"+t.Key)
	}
	beside := 0
	if t.Beside {
		beside = 1
	}
	cmd, err := s.router.do(ctx, triggerScript.command(ctx, keys,
		t.Request, t.By, t.Window.Milliseconds(), t.Every.Microseconds(), t.Burst, beside, lease.MaxWaiting, unixMilli(t.Until)))
	if errors.Is(err, redis.Nil) {
		return lease.Triggered{}, fmt.Errorf("trigger %q: %w", t.Name, lease.ErrUnknown)
	}
	r, err := readNumbers(cmd, err, 3)
	var a lease.Triggered
	if err == nil {
		a = lease.Triggered{Status: lease.TriggerStatus(r[0]), Occasion: r[1], Wait: time.Duration(r[2]) * time.Microsecond}
		if a.Status == lease.Opened {
			err = s.note(ctx, t.Name, a.Occasion)
		}
	}
	if err != nil {
		return lease.Triggered{}, fmt.Errorf("trigger %q: %w", t.Name, outOfBounds(err, t.Until))
	}
	return a, nil
}

func checkName(name string) error {
	if !lease.ValidName(name) {
		return fmt.Errorf("redislease: name %q %s", name, lease.NameRule)
	}
	return nil
}
