package jobs

import "context"

// checkpointer is a [Lease] that keeps checkpoints.
type checkpointer interface {
	Checkpoint(ctx context.Context, position []byte) error
	Progress(ctx context.Context, percent int, text string) error
	Sync(ctx context.Context) error
}

// noCheckpoints is the checkpointer of a lease that is none.
type noCheckpoints struct{}

func (noCheckpoints) Checkpoint(context.Context, []byte) error    { return ErrNoCheckpoints }
func (noCheckpoints) Progress(context.Context, int, string) error { return ErrNoCheckpoints }
func (noCheckpoints) Sync(context.Context) error                  { return ErrNoCheckpoints }

func (r Run) checkpoints() checkpointer {
	if c, ok := r.Lease.(checkpointer); ok {
		return c
	}
	return noCheckpoints{}
}

// Checkpoint keeps where the run is, in at most 4 KiB, in place of the checkpoint before. The next
// attempt of the tick, on whichever replica, has the newest as Position. The store has it within a
// third of the lease's TTL, or when [Run.Sync] returns: so a handler may call Checkpoint as often as
// it likes. After a success the checkpoint is removed.
//
// A run that was cancelled, replaced or stopped gets the cause of its context, and one whose lease
// was lost an error that matches lease.ErrFenced: nothing is kept then. An error that matches
// lease.ErrCheckpoints says that the open ticks of the job have no room left: 64 KiB for all. Any
// other error says that earlier checkpoints could not be written in time. This one is kept in memory
// and written when the store takes it, and retries here have it in any case.
func (r Run) Checkpoint(ctx context.Context, position []byte) error {
	return r.checkpoints().Checkpoint(ctx, position)
}

// Sync returns when the newest checkpoint is written, or with the error of that.
func (r Run) Sync(ctx context.Context) error { return r.checkpoints().Sync(ctx) }

// Progress says how much of the run is done, from 0 to 100 percent, and what it is doing, in 256
// bytes, for people. It is kept as a checkpoint is, and beside it.
func (r Run) Progress(ctx context.Context, percent int, text string) error {
	return r.checkpoints().Progress(ctx, percent, text)
}
