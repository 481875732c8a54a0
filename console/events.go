package console

import (
	"crypto/rand"
	"strconv"
	"strings"
	"sync"

	"github.com/solotick/solotick/fleet"
)

const (
	// The bounds of the events that are kept for clients that resume a stream.
	maxEvents     = 1024
	maxEventBytes = 8 << 20
)

// event is a change with its number.
type event struct {
	seq    uint64
	change change
	data   []byte // the change as JSON, written once for all streams
}

// eventLog keeps the newest events. Ids begin with a word of this process: those of another mean
// nothing here. It is safe for concurrent use.
type eventLog struct {
	process string

	mu    sync.Mutex
	first uint64  // the number of kept[0]
	kept  []event // oldest first
	bytes int
	wake  chan struct{} // is closed by the next event
}

func newEventLog() *eventLog {
	return &eventLog{process: strings.ToLower(rand.Text()[:10]), first: 1, wake: make(chan struct{})}
}

// add appends a change, and wakes the streams.
func (l *eventLog) add(c change) {
	data, _ := fleet.Marshal(c) // of strings, numbers and times: it cannot fail
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = append(l.kept, event{l.first + uint64(len(l.kept)), c, data})
	l.bytes += len(data)
	for len(l.kept) > maxEvents || l.bytes > maxEventBytes && len(l.kept) > 1 {
		l.bytes -= len(l.kept[0].data)
		l.kept[0] = event{}
		l.kept, l.first = l.kept[1:], l.first+1
	}
	close(l.wake)
	l.wake = make(chan struct{})
}

// last returns the number of the newest event; 0 when there was none.
func (l *eventLog) last() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first + uint64(len(l.kept)) - 1
}

// id returns the id of an event.
func (l *eventLog) id(seq uint64) string { return l.process + "-" + strconv.FormatUint(seq, 10) }

// number returns the number of the event that an id names, and whether the events after it are
// known here.
func (l *eventLog) number(id string) (seq uint64, ok bool) {
	process, number, found := strings.Cut(id, "-")
	seq, err := strconv.ParseUint(number, 10, 64)
	if !found || err != nil || process != l.process {
		return 0, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return seq, seq+1 >= l.first && seq < l.first+uint64(len(l.kept))
}

// after returns the events after number seq, and a channel that is closed when there are more. It
// returns false when some of them are not kept any more.
func (l *eventLog) after(seq uint64) (events []event, more <-chan struct{}, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if seq+1 < l.first {
		return nil, l.wake, false
	}
	if from := seq + 1 - l.first; from < uint64(len(l.kept)) {
		events = l.kept[from:len(l.kept):len(l.kept)]
	}
	return events, l.wake, true
}
