package proxytest

import (
	"slices"
	"sync"
)

// dialogue follows what the two ends of a connection say, to know which command a reply belongs to.
type dialogue struct {
	mu        sync.Mutex
	asked     commandScanner
	answered  replyScanner
	pending   []string // commands without a reply yet, oldest first
	outOfStep bool     // replies no longer come one for each command, in order
}

// outOfStep are the commands after which replies do not match commands one by one.
var outOfStep = []string{"MONITOR", "PSUBSCRIBE", "PSYNC", "SSUBSCRIBE", "SUBSCRIBE", "SYNC"}

// requests reads on in what the client sends. It returns the names of the commands that p
// completes. It also returns how many of them began a round trip: they were sent while the client
// waited for nothing.
func (d *dialogue) requests(p []byte) (commands []string, roundTrips int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.asked.scan(p) {
		if len(d.pending) == 0 {
			roundTrips++
		}
		d.pending = append(d.pending, c.name)
		d.outOfStep = d.outOfStep || slices.Contains(outOfStep, c.name) || c.name == "CLIENT" && c.sub == "REPLY"
		commands = append(commands, c.name)
	}
	return commands, roundTrips
}

// replies reads on in what the server sends, and stops before the first reply that loses picks by
// its command. It returns how many bytes come before that: all of them when none is picked.
func (d *dialogue) replies(p []byte, loses func(command string) bool) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.answered.scan(p, func(push bool) (stop bool) {
		if push || len(d.pending) == 0 {
			return false
		}
		command := d.pending[0]
		d.pending = d.pending[1:]
		return !d.outOfStep && loses(command)
	})
}
