package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/record"
	"github.com/solotick/solotick/lease/driver"
)

var _ [driver.Shares]struct{} = [protocol.Shares]struct{}{}

// index returns the store's index of what is due.
func (s *Session) index() (driver.Index, error) {
	if index, ok := s.medium().(driver.Index); ok {
		return index, nil
	}
	return nil, protocol.ErrNoIndex
}

// PutSchedules implements [protocol.Schedules].
func (s *Session) PutSchedules(ctx context.Context, puts []protocol.Put) ([]protocol.PutAnswer, error) {
	if _, err := s.index(); err != nil {
		return nil, err
	}
	answers := make([]protocol.PutAnswer, len(puts))
	var works []*recordWork
	places := make(map[*recordWork]int, len(puts))
	seen := make(map[string]bool, len(puts))
	for i, p := range puts {
		if answers[i].Err = p.Validate(); answers[i].Err != nil {
			continue
		}
		if seen[p.Name] {
			answers[i].Err = protocol.Permanent(fmt.Errorf("put %q: must be there once", p.Name))
			continue
		}
		seen[p.Name] = true
		w := workOn(p.Name)
		w.rule = func(at *record.Moment) []driver.Notification {
			answers[i] = w.record.Put(p, at)
			w.affirms = answers[i].Status == protocol.PutUnchanged
			return nil
		}
		works, places[w] = append(works, w), i
	}
	for batch := range slices.Chunk(works, most) {
		list := make([]*work, len(batch))
		for i, w := range batch {
			list[i] = &w.work
		}
		s.apply(ctx, list...)
		for _, w := range batch {
			if w.err != nil {
				answers[places[w]] = protocol.PutAnswer{Err: failed("put", w.key, w.err)}
			}
			w.free()
		}
	}
	return answers, nil
}

// WithdrawSchedule implements [protocol.Schedules].
func (s *Session) WithdrawSchedule(ctx context.Context, q protocol.Withdraw) (found bool, err error) {
	if err := q.Validate(); err != nil {
		return false, err
	}
	err = s.scheduled(ctx, "delete", q.Name, func(w *recordWork, at *record.Moment) (err error) {
		found, err = w.record.Withdraw(q, at)
		w.removes = !w.record.Known // the index may still have what the store has lost
		return err
	})
	return found, err
}

// PlanSchedule implements [protocol.Schedules]. It writes the record even if nothing has changed, so that
// the index follows.
func (s *Session) PlanSchedule(ctx context.Context, p protocol.Plan) error {
	if err := p.Validate(); err != nil {
		return err
	}
	return s.scheduled(ctx, "plan", p.Name, func(w *recordWork, at *record.Moment) error { return w.record.Plan(p, at) })
}

// scheduled applies a rule to the record of a schedule.
func (s *Session) scheduled(ctx context.Context, what, name string, rule func(w *recordWork, at *record.Moment) error) error {
	if _, err := s.index(); err != nil {
		return err
	}
	w := workOn(name)
	defer w.free()
	w.essential = true
	w.rule = func(at *record.Moment) []driver.Notification {
		w.refused = rule(w, at)
		w.affirms = w.refused == nil
		return nil
	}
	if err := s.one(ctx, what, w); err != nil {
		return err
	}
	return w.refused
}

// GetSchedules implements [protocol.Schedules]. What it reads it notes for the claims that follow, unless
// it has seen something newer: then the store went back, and the claim brings that back.
func (s *Session) GetSchedules(ctx context.Context, names []string) ([]protocol.Keyed, error) {
	return s.keyed(ctx, names, func(key string, v driver.Value) {
		if known, ok := s.known.get(key); !ok || known.Version.Stamp <= v.Version.Stamp {
			s.known.set(key, v)
		}
	})
}

func (s *Session) keyed(ctx context.Context, names []string, seen func(key string, v driver.Value)) ([]protocol.Keyed, error) {
	if _, err := s.index(); err != nil {
		return nil, err
	}
	ops := make([]driver.Op, len(names))
	for i, name := range names {
		if !protocol.ValidKeyed(name) {
			return nil, protocol.Permanent(fmt.Errorf("lease: name %q %s", name, protocol.KeyedRule))
		}
		ops[i] = driver.Op{Key: name}
	}
	list := make([]protocol.Keyed, len(names))
	for i, res := range s.medium().Do(ctx, ops) {
		if res.Err != nil {
			return nil, failed("read", names[i], res.Err)
		}
		list[i].Name = names[i]
		r := new(record.Record)
		if list[i].Err = s.decodeTo(r, names[i], res); list[i].Err == nil && r.Scheduled {
			list[i] = protocol.Keyed{Record: r.View(names[i], record.At(res.Now)), Stored: r.Keyed, Withdrawn: r.Withdrawn, Look: r.Look()}
			seen(names[i], res.Value)
		}
	}
	return list, nil
}

// ListSchedules implements [protocol.Schedules].
func (s *Session) ListSchedules(ctx context.Context, job, prefix, cursor string, count int) (list []protocol.Keyed, next string, err error) {
	if _, err := s.index(); err != nil {
		return nil, "", err
	}
	for _, part := range []string{job, prefix} {
		if part != "" && !protocol.ValidName(part) || job == "" { // a special character is in no name
			return nil, "", nil
		}
	}
	names, next, err := s.medium().Scan(ctx, job+"/"+prefix, cursor, max(count, 1))
	if err != nil {
		return nil, "", fmt.Errorf("list schedules: %w", err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !protocol.ValidKeyed(name) })
	all, err := s.keyed(ctx, names, func(string, driver.Value) {})
	for _, k := range all {
		if k.IsScheduled() {
			list = append(list, k)
		}
	}
	return list, next, err
}

// DueSchedules implements [protocol.Schedules].
func (s *Session) DueSchedules(ctx context.Context, job string, shares []int, until time.Time, count int) ([]protocol.DueName, error) {
	index, err := s.index()
	if err != nil {
		return nil, err
	}
	due, err := index.Due(ctx, job, shares, until, count)
	if err != nil {
		return nil, fmt.Errorf("due schedules: %w", err)
	}
	slices.SortStableFunc(due, func(a, b driver.DueKey) int { return a.At.Compare(b.At) })
	names := make([]protocol.DueName, len(due))
	for i, d := range due {
		names[i] = protocol.DueName{Name: d.Key, Share: driver.ShareOf(d.Key)}
	}
	return names, nil
}
