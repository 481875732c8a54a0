// Package protocol has the messages between a worker and its supervisor. Both are the same program,
// so the messages have no version. They travel as one gob stream in each direction.
package protocol

import (
	"syscall"
	"time"

	"github.com/solotick/solotick/jobs/exec/internal/bootclock"
)

// TagVariable is the variable in the environment of a process that says to which run it belongs. It
// is needed for processes that have left the run's process group.
const TagVariable = "SOLOTICK_SUPERVISED_RUN"

// Verb is a kind of request.
type Verb int

// The verbs. Extend and Stop mean nothing for a run that has ended.
const (
	VerbStart Verb = iota + 1
	VerbExtend
	VerbStop
)

// Request goes from the worker to its supervisor.
type Request struct {
	Verb     Verb
	Run      uint64            // counts up from 1 over one supervisor's life
	Start    *Start            // of VerbStart
	Deadline bootclock.Instant // of VerbStart and VerbExtend
	Grace    time.Duration     // of VerbStart and VerbStop
}

// Start is the command of a run.
type Start struct {
	Args []string
	Dir  string // absolute
	Env  []string
	Tag  string // the value of TagVariable in Env
	Log  bool   // the worker wants the lines of output
}

// Report goes from the supervisor to its worker.
type Report struct {
	Run     uint64
	PID     int    // of the group leader, when it has started
	Stream  string // stdout or stderr, with Line
	Line    string
	Dropped int // lines before Line that were not passed on
	// Checkpoint is what the command has written to CheckpointFD since the report before.
	Checkpoint *Checkpoint
	End        *End // the last report of a run
}

// CheckpointFD is the descriptor to which a command writes its checkpoints, each a line.
const CheckpointFD = 3

// MaxCheckpointLine is the greatest length of such a line, in bytes, without its end: a pipe takes
// it in one piece.
const MaxCheckpointLine = 4095

// Checkpoint has the newest of some lines, "" if all of them were too long.
type Checkpoint struct {
	Line    string
	TooLong int // how many were
}

// The reasons for which a run ends. A supervisor reports all but the last.
const (
	ReasonExit           = "exit"
	ReasonNotStarted     = "not_started"
	ReasonCancelled      = "cancelled"
	ReasonDeadline       = "deadline"
	ReasonSupervisorLost = "supervisor_lost"
)

// End is how a run ended.
type End struct {
	Reason  string
	Status  syscall.WaitStatus // of a group leader that has ended
	Alive   bool               // the group leader was killed but has not ended: there is no Status
	Output  string             // the last lines
	Dropped int                // lines at the end that were not passed on
	Failure string             // of ReasonNotStarted: what failed
	Errno   syscall.Errno      // of ReasonNotStarted: why
}

// QueueBytes bounds the lines of output that wait, for the worker in the supervisor and for the
// logger in the worker.
const QueueBytes = 1 << 20

// LineCost is the size that a line of so many bytes has in a queue: a short one takes more than its
// text.
func LineCost(length int) int { return length + 128 }
