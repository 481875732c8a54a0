package sqlitelease

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/solotick/solotick/lease/driver"
)

const (
	// lookEvery is how often a subscriber looks whether other processes have committed something, and
	// soonest how often it does while a claim waits that has just been queued.
	lookEvery = 20 * time.Millisecond
	soonest   = 2 * time.Millisecond
	// settledAfter is how long after its last change the log cannot have changed without a later time:
	// more than file systems round times to, and than a commit takes.
	settledAfter = 100 * time.Millisecond
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
	for w := range f.watchers {
		nudge(w.look)
	}
}

func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it is going to look
	}
}

// watcher is a subscriber.
type watcher struct {
	look  chan struct{} // of size 1: something was published by this process
	stirs chan struct{} // of size 1: some process has written to a file beside the database
}

// add adds a subscriber. The first begins a watch over the directory.
func (f *file) add(w *watcher) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watchers[w] = true
	dir := filepath.Dir(f.path)
	f.unsure = f.unsure || runtime.GOOS == "windows" || mayBeShared(dir) != ""
	if f.watch != nil || f.noWatch || f.unsure || f.closed {
		return
	}
	stop, err := watchDirectory(dir, lookEvery, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		for w := range f.watchers {
			nudge(w.stirs)
		}
	})
	f.watch, f.noWatch = stop, err != nil
}

func (f *file) remove(w *watcher) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.watchers, w)
}

// unwatch ends the watch over the directory for good.
func (f *file) unwatch() {
	f.mu.Lock()
	stop := f.watch
	f.watch, f.noWatch = nil, true
	f.mu.Unlock()
	if stop != nil {
		_ = stop()
	}
}

func (f *file) watched() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.watch != nil
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

// lookAnyway is how often a subscriber looks though the log seems not to have changed.
var lookAnyway = time.Second

// logState is what the file system shows of the write-ahead log, to which every commit writes.
type logState struct {
	info fs.FileInfo // nil where that does not show commits
	at   time.Time
}

func (f *file) log() logState {
	s := logState{at: time.Now()}
	f.mu.Lock()
	unsure := f.unsure
	f.mu.Unlock()
	if !unsure {
		s.info, _ = os.Stat(f.path + "-wal")
	}
	return s
}

// settled reports whether a later commit shows. One at about the time of the state may not.
func (s logState) settled() bool {
	return s.info != nil && s.at.Sub(s.info.ModTime()).Abs() > settledAfter
}

// sameAs reports whether nothing was committed from one state to a later one.
func (s logState) sameAs(later logState) bool {
	return s.settled() && later.info != nil && os.SameFile(s.info, later.info) && s.info.Size() == later.info.Size() &&
		s.info.ModTime().Equal(later.info.ModTime())
}

// await returns when a subscriber that looked in that state has to look again: when it is woken, or
// something may have been committed.
func (f *file) await(ctx context.Context, looked logState, w *watcher) error {
	for {
		pause, stirs, timedOut := f.pause(), w.stirs, false
		sleeps := pause == lookEvery && looked.settled() && f.watched()
		if sleeps {
			pause = lookAnyway
		} else {
			stirs = nil
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-w.look:
			timer.Stop()
			return nil
		case <-stirs:
			timer.Stop()
		case <-timer.C:
			timedOut = true
		}
		now := f.log()
		same := looked.sameAs(now)
		if sleeps && timedOut && !same { // the kernel has not said so
			f.unwatch()
		}
		if !same || now.at.Sub(looked.at) >= lookAnyway {
			return nil
		}
	}
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
	w := &watcher{look: make(chan struct{}, 1), stirs: make(chan struct{}, 1)}
	v.file.add(w)
	defer v.file.remove(w)
	last := int64(-1) // the newest that was seen; -1 before the first look
	for {
		looked := v.file.log()
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
		if err := v.file.await(ctx, looked, w); err != nil {
			return err
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
