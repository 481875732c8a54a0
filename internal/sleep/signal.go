package sleep

// Signal wakes one goroutine that receives from it. Signals that come before it is received are one.
type Signal chan struct{}

// NewSignal returns a Signal that is not set.
func NewSignal() Signal { return make(Signal, 1) }

// Set sets the signal. It never waits.
func (s Signal) Set() {
	select {
	case s <- struct{}{}:
	default:
	}
}
