package jobs

import (
	"context"
	"errors"
)

// Checkpoint is where a run is, for the next attempt of its tick.
type Checkpoint struct {
	Data    []byte // at most 4 KiB
	Percent int    // how much is done, from 0 to 100
	Text    string // what is being done, for people; cut to 256 bytes of UTF-8
	Sync    bool   // return when it is written
}

// Checkpointer is a [Lease] that keeps checkpoints. That of a tick does, that of a leader task does
// not.
type Checkpointer interface {
	Lease
	// Checkpoint keeps c in place of the one before: see [Run.Checkpoint].
	Checkpoint(ctx context.Context, c Checkpoint) error
}

// ErrNoCheckpoints is the error of [Run.Checkpoint] in a run that keeps none, such as that of a
// leader task.
var ErrNoCheckpoints = errors.New("jobs: this run keeps no checkpoints")

// CheckpointOption is an option of [Run.Checkpoint].
type CheckpointOption func(*Checkpoint)

// WithSync has [Run.Checkpoint] return when the checkpoint is written.
func WithSync() CheckpointOption { return func(c *Checkpoint) { c.Sync = true } }

// WithProgress adds how much of the run is done, from 0 to 100 percent, and what it is doing, for
// people. The text is cut to 256 bytes.
func WithProgress(percent int, text string) CheckpointOption {
	return func(c *Checkpoint) { c.Percent, c.Text = percent, text }
}

// Checkpoint keeps where the run is, at most 4 KiB, in place of the checkpoint before. The next
// attempt of the tick, on whichever replica, has the newest as Position. The store has it within a
// third of the lease's TTL, or with [WithSync] when the call returns: so a handler may call it as
// often as it likes. After a success it is removed.
//
// A run that was cancelled, replaced or stopped gets the cause of its context, and one whose lease
// was lost an error that matches lease.ErrFenced: nothing is kept then. An error that matches
// lease.ErrCheckpoints says that the open ticks of the job have no room left: 64 KiB for all. After
// any other error the checkpoint is kept in memory, and written when the store takes it. Without
// [WithSync] that is the error only once a checkpoint is not written in time.
func (r Run) Checkpoint(ctx context.Context, data []byte, options ...CheckpointOption) error {
	l, ok := r.Lease.(Checkpointer)
	if !ok {
		return ErrNoCheckpoints
	}
	c := Checkpoint{Data: data}
	for _, option := range options {
		option(&c)
	}
	return l.Checkpoint(ctx, c)
}
