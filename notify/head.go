package notify

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/solotick/solotick/internal/notified"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/lease"
)

// head is the progress of the namespace.
type head struct {
	notified.Head
	version protocol.ProgressVersion
}

// saveInterval is the time between two reports of an elected notifier to the store.
const saveInterval = 30 * time.Second

// maxSince bounds the receivers that are remembered.
const maxSince = 4 * maxReceivers

func readHead(ctx context.Context, k protocol.Store) (h head, err error) {
	h.Head, h.version, err = notified.ReadHead(ctx, k)
	return h, err
}

// save writes the head with the receivers of this notifier.
func (t *term) save(ctx context.Context, now time.Time) error {
	h := t.head
	h.Head = notified.Head{
		By: t.options.replica, At: now.UnixMilli(), Since: map[string]int64{}, Waiting: map[string]notified.Waiting{},
		Receivers: map[string]notified.Receiver{},
	}
	for i, r := range t.receivers {
		h.Receivers[r.Name] = t.described(i)
		h.Since[r.Name] = now.UnixMicro()
		if since, known := t.head.Since[r.Name]; known {
			h.Since[r.Name] = since
		}
		if before, waited := t.head.Waiting[r.Name]; waited && !t.looked {
			h.Waiting[r.Name] = before
		} else if s := t.States()[i]; s.Waiting > 0 {
			h.Waiting[r.Name] = notified.Waiting{
				Jobs: s.Waiting, Names: t.queues[i].names(), Since: now.Add(-time.Since(s.Since)).UnixMilli(), Error: cut(oneLine(s.Error), 200),
			}
		}
	}
	for name, since := range t.head.Since {
		if len(h.Since) < maxSince {
			h.Since[name] = since
		}
	}
	data, err := h.Encode()
	if err != nil {
		return err
	}
	present, done, err := t.store.SetProgress(ctx, protocol.Progress{Data: data, Version: h.version})
	if err != nil {
		return err
	}
	if !done { // another has been elected, or the store has forgotten it
		if h, err = readHead(ctx, t.store); err == nil {
			t.setHead(h)
			err = errors.New("others change the progress of notifications")
		}
		return err
	}
	h.version, t.saved = present.Version, time.Now()
	t.setHead(h)
	return nil
}

// described returns what the head says of a receiver.
func (t *term) described(i int) notified.Receiver {
	r := t.receivers[i]
	d := notified.Receiver{Kind: string(r.kind()), Jobs: r.Jobs, Groups: r.Groups, Last: t.lastOf(i)}
	for _, c := range r.Conditions {
		d.Conditions = append(d.Conditions, string(c))
	}
	return d
}

// lastOf returns what a receiver has taken last, from this notifier or those before.
func (t *term) lastOf(i int) *notified.Sent {
	t.mu.Lock()
	defer t.mu.Unlock()
	if sent := t.last[i]; sent != nil {
		return sent
	}
	return t.head.Receivers[t.receivers[i].Name].Last
}

// setHead replaces the head, which senders read.
func (t *term) setHead(h head) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.head = h
}

// report saves the head when that was long ago, when something begins or ends to wait, or when a
// receiver has taken something.
func (t *term) report(ctx context.Context, now time.Time) error {
	changed := false
	for i, s := range t.States() {
		changed = changed || (s.Waiting > 0) != (t.head.Waiting[s.Receiver].Jobs > 0) || t.lastOf(i) != t.head.Receivers[s.Receiver].Last
	}
	if !changed && time.Since(t.saved) < saveInterval {
		return nil
	}
	return t.save(ctx, now)
}

// Report says how the notifications of a fleet are, as the elected notifier has written it to the
// store.
type Report struct {
	By      string    // who notifies; empty when nobody ever has
	At      time.Time // when it said so, by the store's clock; at most half a minute ago while it is well
	Waiting []Waiting // receivers that have not taken everything, by their names
}

// Waiting says what a receiver has not taken.
type Waiting struct {
	Receiver string
	Jobs     int       // with a notification that it has not taken
	Since    time.Time // since when the oldest of them waits
	Error    string    // why the last try failed; it names no more of a URL than the host
}

// Inspect returns the report of the elected notifier.
func Inspect(ctx context.Context, store lease.Store) (Report, error) {
	h, err := readHead(ctx, store)
	if err != nil {
		return Report{}, err
	}
	r := Report{By: h.By, At: wire.FromMilli(h.At)}
	for _, name := range slices.Sorted(maps.Keys(h.Waiting)) {
		w := h.Waiting[name]
		r.Waiting = append(r.Waiting, Waiting{name, w.Jobs, wire.FromMilli(w.Since), w.Error})
	}
	return r, nil
}
