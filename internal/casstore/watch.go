package casstore

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/sleep"
	"github.com/solotick/solotick/lease/driver"
)

const (
	noteLife  = 5 * time.Second // for how long a value keeps its notifications, at least
	mostNotes = 8               // in a value
	slots     = 32              // of messages: a watch may leave out all but the last of each
)

// watch is what goes on in the background from the first call until the store is closed.
type watch struct {
	mu        sync.Mutex
	stop      context.CancelFunc // nil before the first call
	closed    bool
	done      sync.WaitGroup
	watching  bool
	listeners map[*listener]struct{}
	slots     [slots]uint64 // the revisions of messages
}

// listener is a subscription.
type listener struct {
	missed  func()
	note    func(driver.Notification)
	message func([]byte)
	ended   chan error
}

// start begins to watch.
func (v *values) start() error {
	w := &v.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closed:
		return v.failed(context.Background(), ErrClosed)
	case w.stop != nil:
		return nil
	}
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	w.done.Go(func() { v.follow(ctx) })
	w.done.Go(func() { v.sweep(ctx) })
	return nil
}

func (v *values) close() {
	w := &v.watch
	w.mu.Lock()
	w.closed = true
	if w.stop != nil {
		w.stop()
	}
	w.mu.Unlock()
	w.done.Wait()
	w.end(v.failed(context.Background(), ErrClosed))
}

// follow watches until the context ends.
func (v *values) follow(ctx context.Context) {
	for tried := 0; ctx.Err() == nil; tried++ {
		err := v.medium.Watch(ctx, v.changed, func() {
			tried = 0
			v.missed()
		})
		if errors.Is(err, ErrWentBack) {
			v.seen.forget()
		} else {
			v.seen.doubtAll()
		}
		v.watch.end(v.failed(ctx, err))
		sleep.For(ctx, sleep.Scatter(tried, 20*time.Millisecond, time.Second))
	}
}

func (v *values) missed() {
	v.seen.doubtAll()
	v.watch.mu.Lock()
	v.watch.watching = true
	v.watch.mu.Unlock()
	v.watch.each(func(l *listener) { l.missed() })
}

// is reports whether changes are seen.
func (w *watch) is() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.watching
}

func (w *watch) each(f func(l *listener)) {
	w.mu.Lock()
	list := make([]*listener, 0, len(w.listeners))
	for l := range w.listeners {
		list = append(list, l)
	}
	w.mu.Unlock()
	for _, l := range list {
		f(l)
	}
}

// end ends all subscriptions.
func (w *watch) end(err error) {
	w.mu.Lock()
	list := w.listeners
	w.listeners, w.watching = nil, false
	w.mu.Unlock()
	for l := range list {
		l.ended <- err
	}
}

// changed takes in what the watch brings.
func (v *values) changed(key string, kept Kept) {
	switch {
	case strings.HasPrefix(key, itemPrefix):
		if st, err := decode(key, kept); err == nil { // who reads it gets the error
			v.seen.watched(key, st)
			v.notify(st.Notes)
		}
	case strings.HasPrefix(key, messagePrefix):
		v.received(key, kept)
	}
}

// notify has subscribers notified of what they were not yet.
func (v *values) notify(notes []note) {
	for _, n := range notes {
		if v.notes.add(n.Nonce) {
			v.watch.each(func(l *listener) {
				if l.note != nil {
					l.note(n.Notification)
				}
			})
		}
	}
}

// nonces are those of the last notifications.
type nonces struct {
	mu   sync.Mutex
	has  map[uint64]struct{}
	last [1024]uint64
	next int
}

// add reports whether a nonce is new.
func (m *nonces) add(nonce uint64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.has == nil {
		m.has = make(map[uint64]struct{})
	}
	if _, ok := m.has[nonce]; ok {
		return false
	}
	delete(m.has, m.last[m.next])
	m.has[nonce], m.last[m.next] = struct{}{}, nonce
	m.next = (m.next + 1) % len(m.last)
	return true
}

// Subscribe implements [driver.Store].
func (v *values) Subscribe(ctx context.Context, notify func(driver.Notification)) error {
	return v.listen(ctx, &listener{note: notify, missed: func() { notify(driver.Notification{}) }})
}

func (v *values) listen(ctx context.Context, l *listener) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err := v.start(); err != nil {
		return err
	}
	l.ended = make(chan error, 1)
	w := &v.watch
	w.mu.Lock()
	if w.listeners == nil {
		w.listeners = make(map[*listener]struct{})
	}
	w.listeners[l] = struct{}{}
	watching := w.watching
	w.mu.Unlock()
	if watching {
		l.missed()
	}
	select {
	case err := <-l.ended:
		return err
	case <-ctx.Done():
		w.mu.Lock()
		delete(w.listeners, l)
		w.mu.Unlock()
		return context.Cause(ctx)
	}
}

// message is the content of its key.
type message struct {
	At    int64 // Unix microseconds
	Text  []byte
	Notes []note // of a value that was removed
}

// publish keeps a message for as long as it takes everybody to see it.
func (v *values) publish(ctx context.Context, m message) error {
	now, err := v.now(ctx)
	if err != nil {
		return err
	}
	m.At = now.fleet.UnixMicro()
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	for {
		slot := rand.IntN(slots)
		v.watch.mu.Lock()
		from := v.watch.slots[slot]
		v.watch.mu.Unlock()
		present, ok, err := v.medium.Put(ctx, messagePrefix+strconv.Itoa(slot), data, from)
		if err != nil {
			return err
		}
		v.watch.mu.Lock()
		v.watch.slots[slot] = present.Revision
		v.watch.mu.Unlock()
		if ok {
			return nil
		}
	}
}

func (v *values) publishNotes(ctx context.Context, notes []note) error {
	if len(notes) == 0 {
		return nil
	}
	return v.publish(ctx, message{Notes: notes})
}

func (v *values) received(key string, kept Kept) {
	slot, err := strconv.Atoi(strings.TrimPrefix(key, messagePrefix))
	if err != nil || slot < 0 || slot >= slots {
		return
	}
	v.watch.mu.Lock()
	v.watch.slots[slot] = kept.Revision
	v.watch.mu.Unlock()
	var m message
	if !readable(kept.Data, &m) {
		return
	}
	v.notify(m.Notes)
	if len(m.Text) > 0 {
		v.watch.each(func(l *listener) {
			if l.message != nil {
				l.message(m.Text)
			}
		})
	}
}
