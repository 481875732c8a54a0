package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/lease"
)

// head is the progress of the namespace: since when each receiver is there, and what the elected
// notifier says of itself.
type head struct {
	Since   map[string]int64   `json:"since"` // Unix microseconds of the store's clock
	By      string             `json:"by"`
	At      int64              `json:"at"` // Unix ms of the store's clock
	Waiting map[string]waiting `json:"waiting,omitempty"`

	version protocol.ProgressVersion
}

// waiting says what a receiver has not taken.
type waiting struct {
	Jobs  int    `json:"jobs"`
	Since int64  `json:"since"` // Unix ms of the store's clock
	Error string `json:"error,omitempty"`
}

// saveInterval is the time between two reports of an elected notifier to the store.
const saveInterval = 30 * time.Second

// maxSince bounds the receivers that are remembered.
const maxSince = 4 * maxReceivers

func readHead(ctx context.Context, k protocol.ProgressKeeper) (h head, err error) {
	list, err := k.Progress(ctx, []string{""})
	if err != nil {
		return h, err
	}
	h.version = list[0].Version
	if len(list[0].Data) > 0 {
		if err := json.Unmarshal(list[0].Data, &h); err != nil {
			return h, fmt.Errorf("the progress of notifications: %w", err)
		}
	}
	return h, nil
}

// save writes the head with the receivers of this notifier.
func (t *term) save(ctx context.Context, now time.Time) error {
	h := t.head
	h.By, h.At, h.Since, h.Waiting = t.options.replica, now.UnixMilli(), map[string]int64{}, map[string]waiting{}
	for i, r := range t.receivers {
		h.Since[r.Name] = now.UnixMicro()
		if since, known := t.head.Since[r.Name]; known {
			h.Since[r.Name] = since
		}
		if s := t.States()[i]; s.Waiting > 0 {
			h.Waiting[r.Name] = waiting{s.Waiting, now.Add(-time.Since(s.Since)).UnixMilli(), cut(oneLine(s.Error), 200)}
		}
	}
	for name, since := range t.head.Since {
		if len(h.Since) < maxSince {
			h.Since[name] = since
		}
	}
	data, err := json.Marshal(h)
	if err != nil {
		return err
	}
	present, done, err := t.progress.SetProgress(ctx, protocol.Progress{Data: data, Version: h.version})
	if err != nil {
		return err
	}
	if !done { // another has been elected, or the store has forgotten it
		if h, err = readHead(ctx, t.progress); err == nil {
			t.setHead(h)
			err = errors.New("others change the progress of notifications")
		}
		return err
	}
	h.version, t.saved = present.Version, time.Now()
	t.setHead(h)
	return nil
}

// setHead replaces the head, which senders read.
func (t *term) setHead(h head) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.head = h
}

// report saves the head when that was long ago, or when something begins or ends to wait.
func (t *term) report(ctx context.Context, now time.Time) error {
	changed := false
	for _, s := range t.States() {
		changed = changed || (s.Waiting > 0) != (t.head.Waiting[s.Receiver].Jobs > 0)
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
	k, ok := store.(protocol.ProgressKeeper)
	if !ok {
		return Report{}, fmt.Errorf("notify: store: a %T must be a protocol.ProgressKeeper: %w", store, errors.ErrUnsupported)
	}
	h, err := readHead(ctx, k)
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
