package notify

import (
	"context"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/sleep"
)

// Keys of stored schedules may be millions, so the elected notifier looks at those alone that failed: each
// replica notes which, in a journal of the store.

const (
	// failuresName is the name whose journal has them: the newest protocol.MaxNotes, or a quarter of that.
	failuresName = "solotick.failures"
	// noteAgain is for how long one note of a key is enough, and noteEvery the least time between two notes
	// of a replica.
	noteAgain, noteEvery = 30 * time.Second, 50 * time.Millisecond
	// mostUnnoted bounds the failures that a replica has still to note, and mostKeys the keys that the elected
	// notifier looks at. Receivers are not notified of more, until some are in order again.
	mostUnnoted, mostKeys = 256, 1000
)

// Failed tells the elected notifier, on whichever replica, that a tick of a job went wrong on this one, and of
// which key if its schedules lie in the store. It never blocks.
func (n *Notifier) Failed(job, key string) {
	n.Nudge()
	if key == "" || len(n.receivers) == 0 {
		return
	}
	select {
	case n.failures <- naming.Keyed(job, key):
	default:
	}
}

// note notes failures until ctx ends. The same request changes nothing, whichever replica makes it.
func (n *Notifier) note(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case name := <-n.failures:
			h := fnv.New64a()
			_, _ = h.Write([]byte(name))
			request := strconv.FormatUint(h.Sum64(), 36) + "-" + strconv.FormatInt(time.Now().Unix()/int64(noteAgain/time.Second), 36)
			if err := n.store.Append(ctx, failuresName, request, []byte(name)); err == nil {
				n.Nudge()
			}
			sleep.For(ctx, noteEvery)
		}
	}
}

// failing returns what becomes of keys that failed, until they are in order and all receivers know it.
func (t *term) failing(ctx context.Context) ([]fleet.JobStatus, error) {
	notes, err := t.store.Notes(ctx, failuresName, 0)
	if err != nil {
		return nil, err
	}
	noted := t.noted
	for _, note := range notes { // newest first
		if !note.At.After(noted) {
			break
		}
		if t.noted = later(t.noted, note.At); protocol.ValidKeyed(string(note.Text)) && len(t.keys) < mostKeys {
			t.keys[string(note.Text)] = true
		}
	}
	if len(t.keys) == 0 {
		return nil, nil
	}
	status, err := t.fleet.Status(ctx, nil, slices.Sorted(maps.Keys(t.keys))...)
	if err != nil {
		return nil, err
	}
	for i, j := range status.Jobs {
		if t.isOver(j) {
			delete(t.keys, j.Name)
		}
		for _, given := range t.options.jobs() {
			if job, _ := naming.SplitKeyed(j.Name); job == given.Name() {
				status.Jobs[i].Spec.Groups = given.Spec().Groups
			}
		}
	}
	return status.Jobs, nil
}

// isOver reports whether a key is in order and every receiver knows it, or its schedule is gone.
func (t *term) isOver(j fleet.JobStatus) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.known[j.Name]
	switch {
	case k == nil || j.Last == nil:
		return !j.Known
	case k.seen != newest(j) || outcomeOf(*j.Last) != OK:
		return false
	}
	for _, r := range t.receivers {
		if k.reached[r.Name].outcome() != OK {
			return false
		}
	}
	return true
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
