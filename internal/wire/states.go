package wire

// The states of a tick.
const (
	StateRunning = "running" // a replica holds it
	// StateRetrying is of one whose last attempt failed: its holder waits to make the next.
	StateRetrying = "retrying"
	StateWaiting  = "waiting" // it waits for its turn, or was triggered and waits to be claimed
	StateFree     = "free"    // its holder gave it up, or its lease ran out: the next replica to claim it runs it
	StateSettled  = "settled"
)
