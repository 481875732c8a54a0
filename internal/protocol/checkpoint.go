package protocol

import (
	"errors"
	"time"
)

// Checkpoint is where the run of a tick is, for the next attempt.
type Checkpoint struct {
	Name     string // of the record
	Tick     int64
	Token    int64  // of the grant under which it was made
	Data     []byte // at most MaxCheckpoint bytes
	Revision string // of the definition of the run
	Percent  int    // how much is done, from 0 to 100
	Text     string // what is being done, for people; cut to MaxCheckpointText bytes of UTF-8

	At time.Time // when it was written, by the store's clock; Checkpoint fills it in

	// Remaining is what remains of the lease. A request that reaches the store later is refused.
	// It is not kept.
	Remaining time.Duration `json:"-"`
	// Clear removes the checkpoint of the tick instead, whatever remains of the lease.
	Clear bool `json:"-"`
}

const (
	// MaxCheckpoint is the greatest length of a checkpoint's Data, in bytes.
	MaxCheckpoint = 4096
	// MaxCheckpoints is how many bytes the checkpoints of all open ticks of a name may have.
	MaxCheckpoints = 64 << 10
	// MaxCheckpointText is the greatest length of a checkpoint's Text, in bytes.
	MaxCheckpointText = 256
)

// ErrCheckpoints is returned for a checkpoint with which those of the open ticks of its name would
// have more than MaxCheckpoints bytes.
var ErrCheckpoints = errors.New("lease: the checkpoints of the open ticks would have more than 64 KiB")

// Validate returns an error unless c can be written.
func (c Checkpoint) Validate() error {
	f := faults{of: "checkpoint", permanent: true}
	f.record(c.Name)
	f.tick("tick", c.Tick, 1)
	f.tick("token", c.Token, 1)
	check(&f, len(c.Data) <= MaxCheckpoint, "data", len(c.Data), "bytes must be at most 4096")
	check(&f, c.Percent >= 0 && c.Percent <= 100, "percent", c.Percent, "must be from 0 to 100")
	return f.err()
}
