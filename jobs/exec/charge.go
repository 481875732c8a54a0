package exec

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// charge is a run in the guard's care.
type charge struct {
	id    uint64
	start *start
	plan  plan

	born    instant // no process of the run is older
	pid     int     // of the leader; 0 before it has started
	output  *output
	files   []*os.File // the guard's ends of the streams
	streams int        // that have not ended

	ended    bool // the leader has
	status   syscall.WaitStatus
	listed   bool    // the orphans being inspected were listed after it had ended
	clean    bool    // nothing else of it lives
	giveUp   instant // when the end is reported whatever is left; 0 means not yet known
	reported bool    // although the leader has not ended
}

// alive reports whether processes of the run may live on.
func (c *charge) alive() bool { return !c.ended && !c.plan.killed }

// slay kills a child, which is not reaped yet, so that its number is still its own, and the group that it leads.
func slay(pid int) {
	_ = unix.Kill(-pid, unix.SIGKILL)
	_ = unix.Kill(pid, unix.SIGKILL) // it may have left its group
}
