package record

import (
	"slices"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// Checkpoints are those of the ticks of one name, the one that was written last at the end. They
// are a value of their own, because a record changes with every claim, and checkpoints come often.
type Checkpoints struct {
	List []protocol.Checkpoint
}

const (
	// keepCheckpoints is for how long they are kept after one was written last.
	keepCheckpoints = 90 * 24 * time.Hour
	// checkpointSize is what a checkpoint takes beside its data and its text, about.
	checkpointSize = 64
)

// Put takes in a valid checkpoint, up to a time of the store. If there is no room, those of ticks
// that are not open are dropped, the oldest first. A nil open means that it is not known which are.
func (s *Checkpoints) Put(c protocol.Checkpoint, until time.Time, open func(tick int64) bool, at *Moment) error {
	var others []protocol.Checkpoint
	size := sizeOf(c)
	for _, o := range s.List {
		if o.Tick != c.Tick {
			others, size = append(others, o), size+sizeOf(o)
		} else if o.Token > c.Token {
			return protocol.ErrFenced
		}
	}
	if c.Clear {
		s.List = others
		return nil
	}
	if err := inBounds(until, at); err != nil {
		return err
	}
	for size > protocol.MaxCheckpoints {
		i := -1
		if open != nil {
			i = slices.IndexFunc(others, func(o protocol.Checkpoint) bool { return !open(o.Tick) })
		}
		if i < 0 {
			return protocol.ErrCheckpoints
		}
		size -= sizeOf(others[i])
		others = slices.Delete(others, i, i+1)
	}
	c.Text, c.At, c.Remaining = protocol.Cut(c.Text, protocol.MaxCheckpointText), at.micro(), 0
	s.List = append(others, c)
	return nil
}

func sizeOf(c protocol.Checkpoint) int { return len(c.Data) + len(c.Text) + checkpointSize }

// Encode implements [State].
func (s *Checkpoints) Encode(stamp int64) []byte {
	w := &writer{b: make([]byte, 0, 256), stamp: stamp}
	w.b = append(w.b, checkpointsFormat)
	w.count(len(s.List))
	for _, c := range s.List {
		w.number(c.Tick)
		w.number(c.Token)
		w.time(c.At)
		w.count(c.Percent)
		w.text(c.Revision)
		w.newText(c.Text)
		w.newText(string(c.Data))
	}
	return w.b
}

// Decode implements [State].
func (s *Checkpoints) Decode(name string, data []byte, stamp int64, _ func(token int64) time.Time) error {
	*s = Checkpoints{}
	if len(data) == 0 {
		return nil
	}
	d := &reader{b: data, stamp: stamp}
	d.begin(checkpointsFormat)
	s.List = list(d, func(c *protocol.Checkpoint) {
		c.Name, c.Tick, c.Token, c.At, c.Percent = name, d.number(), d.number(), d.time(), d.plain()
		c.Revision, c.Text, c.Data = d.text(), d.text(), []byte(d.text())
	})
	return d.end()
}

// AppendLeases implements [State].
func (s *Checkpoints) AppendLeases(leases []Lease) []Lease { return leases }

// Keep implements [State].
func (s *Checkpoints) Keep() time.Duration { return keepCheckpoints }
