package exec

import (
	"context"
	"os"
	osexec "os/exec"
	"os/signal"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/solotick/solotick/jobs/exec/internal/proc"
)

// reapAgain is how often ReapOrphans looks even if no signal came.
const reapAgain = 10 * time.Second

// started are the processes that this package has started and waits for itself.
var started = startedProcesses{pids: make(map[int]struct{})}

type startedProcesses struct {
	mu   sync.Mutex
	pids map[int]struct{}
}

// start starts a process. Only wait takes its exit status.
func (s *startedProcesses) start(c *osexec.Cmd) error {
	s.mu.Lock() // the process may end before its number is known here
	defer s.mu.Unlock()
	if err := c.Start(); err != nil {
		return err
	}
	s.pids[c.Process.Pid] = struct{}{}
	return nil
}

// wait waits for a process that start has started.
func (s *startedProcesses) wait(c *osexec.Cmd) {
	_ = c.Wait() // the state of c says it all
	s.mu.Lock()
	delete(s.pids, c.Process.Pid)
	s.mu.Unlock()
}

// reapOthers reaps the children that have ended, but for those that were started here.
func (s *startedProcesses) reapOthers() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, pid := range proc.Children() {
		if _, own := s.pids[pid]; !own {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) // nothing, if it has not ended
		}
	}
}

// ReapOrphans reaps, until ctx ends, processes whose parents have died and that became children of
// this one. The supervisor reaps what commands leave behind, but it may be killed itself. It does
// nothing unless this process is one that orphans come to: the first of a container or another PID
// namespace, or a subreaper. It takes the exit status of every child that this package has not
// started, so it is for programs that start processes in no other way.
func ReapOrphans(ctx context.Context) {
	var subreaper int32
	if os.Getpid() != 1 {
		if err := unix.Prctl(unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(&subreaper)), 0, 0, 0); err != nil || subreaper == 0 {
			return
		}
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGCHLD)
	defer signal.Stop(ended)
	again := time.NewTicker(reapAgain)
	defer again.Stop()
	for {
		started.reapOthers()
		select {
		case <-ended:
		case <-again.C:
		case <-ctx.Done():
			return
		}
	}
}

// thisProgram is the image that runs now. A path would name another program once a deployment has
// replaced the file.
func thisProgram() (string, error) { return "/proc/self/exe", nil }
