package exec

import (
	"syscall"
	"time"
)

// The worker and its guard are the same program, so the messages have no version: see [NewGuard]. They travel as one
// gob stream in each direction.

type verb int

const (
	verbStart  verb = iota + 1
	verbExtend      // for a run that has ended or been killed: ignored
	verbStop
)

// request is what the worker tells its guard.
type request struct {
	Verb     verb
	Run      uint64        // counts up from 1 over one guard's life
	Start    *start        // of verbStart
	Deadline instant       // of verbStart and verbExtend
	Grace    time.Duration // of verbStart and verbStop
}

// start is the command of a run.
type start struct {
	Args []string
	Dir  string // absolute
	Env  []string
	Mark string // the value of markVariable in Env
	Log  bool   // whether the worker wants the lines of output
}

// report is what the guard tells its worker.
type report struct {
	Run     uint64
	PID     int    // of the leader, when it has started
	Stream  string // stdout or stderr, with Line
	Line    string
	Dropped int  // lines before Line that were not passed on
	End     *end // the last report of a run
}

// end is how a run ended.
type end struct {
	Reason  Reason
	Status  syscall.WaitStatus // of a leader that has ended
	Alive   bool               // the leader was killed but has not ended: there is no Status
	Output  string             // the last lines
	Dropped int                // lines at the end that were not passed on
	Failure string             // of ReasonNotStarted: what failed
	Errno   syscall.Errno      // of ReasonNotStarted: why
}
