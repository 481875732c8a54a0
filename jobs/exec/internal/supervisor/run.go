package supervisor

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/solotick/solotick/jobs/exec/internal/bootclock"
	"github.com/solotick/solotick/jobs/exec/internal/protocol"
)

// run is a command in the supervisor's care.
type run struct {
	id    uint64
	start *protocol.Start
	plan  plan

	startedAt bootclock.Instant // no process of the run is older
	pid       int               // of the group leader; 0 before it has started
	output    *output
	files     []*os.File // the supervisor's ends of the streams
	streams   int        // that have not ended

	ended    bool // the group leader has
	status   syscall.WaitStatus
	listed   bool              // the orphans being inspected were listed after the group leader had ended
	clean    bool              // no other process of the run lives
	reportBy bootclock.Instant // when the end is reported whatever lives on; 0 means not yet known
	reported bool              // although the group leader has not ended
}

// running reports whether processes of the run may live on.
func (r *run) running() bool { return !r.ended && !r.plan.killed }

// killGroup kills a child and the process group that it leads. The child is not reaped yet, so its
// number is still its own.
func killGroup(pid int) {
	_ = unix.Kill(-pid, unix.SIGKILL)
	_ = unix.Kill(pid, unix.SIGKILL) // it may have left its group
}
