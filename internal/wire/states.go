package wire

// The states of a tick.
const (
	StateRunning = "running" // a replica holds it
	StateWaiting = "waiting" // it waits for its turn, or was triggered and waits to be claimed
	StateFree    = "free"    // its holder gave it up, or its lease ran out: the next replica to claim it runs it
	StateSettled = "settled"
)
