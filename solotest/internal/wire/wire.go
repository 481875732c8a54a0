// Package wire has what replicas in processes of their own and their test say to each other, over
// net/rpc on two pipes.
package wire

import (
	"os"
	"time"

	"github.com/solotick/solotick/jobs"
)

// Variable holds, in the environment of a replica, its Start as JSON.
const Variable = "SOLOTEST_REPLICA"

// Service is the name of the test's methods.
const Service = "Fleet"

// Start says which replica a process is.
type Start struct {
	Test      string // the test's name
	Call      int    // which call of Run in that test, from 0
	Replica   string
	URL       string   // of Redis, through the replica's proxy
	Addrs     []string // of the servers of a store, so too
	Namespace string
}

// Job is a job that a replica has.
type Job struct{ Name, Schedule, Timezone string }

// Event is the beginning or the end of a run.
type Event struct {
	Run     jobs.Run // without its lease
	At      time.Time
	Ended   bool
	Outcome string
	Lost    bool
	Err     string
}

// Stopped says how a run took the end of its context.
type Stopped struct {
	Job, Cause string
	Overrun    bool // it went on
}

// Write is a write to the gate.
type Write struct {
	Run   jobs.Run // without its lease
	Key   string
	Token int64
	Once  bool
	N     int // what Begin has answered
}

// None is no argument, or no answer.
type None struct{}

// Pipes are a connection that consists of two pipes.
type Pipes struct{ In, Out *os.File }

// Read implements io.Reader.
func (p Pipes) Read(b []byte) (int, error) { return p.In.Read(b) }

// Write implements io.Writer.
func (p Pipes) Write(b []byte) (int, error) { return p.Out.Write(b) }

// Close implements io.Closer.
func (p Pipes) Close() error {
	_ = p.In.Close()
	return p.Out.Close()
}
