package sqlitelease

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/solotick/solotick/lease/driver"
)

const (
	// lookEvery is how often a subscriber looks for what other processes have published, and soonest
	// how often it does while a claim waits that has just been queued.
	lookEvery = 20 * time.Millisecond
	soonest   = 2 * time.Millisecond
	// mostNotices is how many are kept, at least, for subscribers that have not looked yet.
	mostNotices = 1024
)

// publish adds notifications to those that subscribers look for.
func (v *values) publish(t *tx, list []driver.Notification) error {
	for _, n := range list {
		text, err := json.Marshal(n)
		if err == nil {
			err = v.notice(t, string(text), nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// notice adds a notification or a message.
func (v *values) notice(t *tx, change any, message []byte) error {
	t.published = true
	var seq int64
	if err := t.exec("INSERT INTO notice (namespace, change, message) VALUES (?, ?, ?)", v.namespace, change, message); err != nil {
		return err
	}
	if _, err := t.one("SELECT max(seq) FROM notice", nil, &seq); err != nil || seq%mostNotices != 0 {
		return err
	}
	return t.exec("DELETE FROM notice WHERE seq <= ?", seq-mostNotices)
}

// publish has the subscribers in this process look at once.
func (f *file) publish() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for look := range f.watchers {
		select {
		case look <- struct{}{}:
		default: // it will look
		}
	}
}

// waiting notes that a claim of a lock waits. Subscribers look more often meanwhile: they see what
// it waits for late by a tenth of the time that it has waited, or by soonest.
func (f *file) waiting() {
	f.mu.Lock()
	f.queued = time.Now()
	f.mu.Unlock()
	f.publish()
}

// pause is how long a subscriber does not look that nobody wakes.
func (f *file) pause() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return min(max(time.Since(f.queued)/10, soonest), lookEvery)
}

// Subscribe implements [driver.Store].
func (v *values) Subscribe(ctx context.Context, notify func(driver.Notification)) error {
	return v.follow(ctx, "change", func() { notify(driver.Notification{}) }, func(text []byte) error {
		var n driver.Notification
		if err := json.Unmarshal(text, &n); err != nil {
			return fmt.Errorf("%w: table notice of %s: %w", driver.ErrRecord, v.file.path, err)
		}
		notify(n)
		return nil
	})
}

// follow calls receive with each notice of a kind, and missed when it may have missed some, first
// when it looks for them.
func (v *values) follow(ctx context.Context, kind string, missed func(), receive func([]byte) error) error {
	look := make(chan struct{}, 1)
	v.file.mu.Lock()
	v.file.watchers[look] = true
	v.file.mu.Unlock()
	defer func() {
		v.file.mu.Lock()
		delete(v.file.watchers, look)
		v.file.mu.Unlock()
	}()
	last := int64(-1) // the newest that was seen; -1 before the first look
	for {
		list, oldest, newest, err := v.noticesAfter(ctx, kind, last)
		if err != nil {
			return err
		}
		if last < 0 || oldest > last+1 || newest < last { // the first look, too slow, or another file
			missed()
		}
		for _, text := range list {
			if err := receive(text); err != nil {
				return err
			}
		}
		last = newest
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(v.file.pause()):
		case <-look:
		}
	}
}

// noticesAfter returns the notices of a kind that came after the one with that number. It also
// returns the numbers of the oldest and the newest that are kept, 0 when there are none.
func (v *values) noticesAfter(ctx context.Context, kind string, last int64) (list [][]byte, oldest, newest int64, err error) {
	var found [][]byte
	var first, end int64
	err = v.reads.do(ctx, func(t *tx) error {
		found = nil
		if _, err := t.one("SELECT coalesce((SELECT min(seq) FROM notice), 0), coalesce((SELECT max(seq) FROM notice), 0)", nil, &first, &end); err != nil || last < 0 || end <= last {
			return err
		}
		var text []byte
		return t.each("SELECT "+kind+" FROM notice WHERE seq > ? AND namespace = ? AND "+kind+" IS NOT NULL ORDER BY seq",
			[]any{last, v.namespace}, []any{&text}, func() { found = append(found, slices.Clone(text)) })
	})
	if err != nil {
		return nil, 0, 0, err
	}
	return found, first, end, nil
}

// Publish implements [driver.Messenger].
func (v *values) Publish(ctx context.Context, message []byte) error {
	message = slices.Clone(message)
	return v.writes.do(ctx, func(t *tx) error { return v.notice(t, nil, message) })
}

// Receive implements [driver.Messenger].
func (v *values) Receive(ctx context.Context, receive func(message []byte)) error {
	return v.follow(ctx, "message", func() {}, func(message []byte) error { receive(message); return nil })
}
