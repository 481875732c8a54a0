// Package proctest starts processes that do not outlive the test that started them, and stops,
// freezes and kills them.
//
// A process ends with the test process, however that ends: on Linux by the kernel's parent-death
// signal. Elsewhere a test process that is killed leaves its processes behind, unless they notice.
package proctest

import (
	"errors"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Process is a process that was started. Its methods are safe for concurrent use.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // valid after done
}

// Start starts a command in a process group of its own, so that an interrupt at the terminal
// reaches the test before it.
func Start(cmd *exec.Cmd) (*Process, error) { return StartWith(cmd, syscall.SIGKILL) }

// StartWith is Start of a process that gets another signal when the test process ends: one that it
// ends by.
func StartWith(cmd *exec.Cmd, last syscall.Signal) (*Process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Setpgid = true
	endWithParent(cmd.SysProcAttr, last)
	p := &Process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The kernel takes the thread that forked for the parent, so that thread has to live as long as
		// the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.err = cmd.Wait()
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// Pid returns the process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err says how the process ended; nil is exit status 0. Call it after Done.
func (p *Process) Err() error { return p.err }

// Signal sends a signal. The error matches os.ErrProcessDone when the process has ended.
func (p *Process) Signal(s syscall.Signal) error { return p.cmd.Process.Signal(s) }

// Kill kills the process, frozen or not, and returns when it is gone, and whether it was a SIGKILL
// that ended it.
func (p *Process) Kill() (killed bool) {
	_ = p.cmd.Process.Kill() // an error says that it has ended already
	<-p.done
	return p.EndedBy(syscall.SIGKILL)
}

// EndedBy reports whether that signal has ended the process. Call it after Done.
func (p *Process) EndedBy(s syscall.Signal) bool {
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == s
}

// ErrEnded is returned by Freeze when the process has ended meanwhile.
var ErrEnded = errors.New("the process has ended")

// Freeze stops the process, as SIGSTOP does, and returns when it stands still. A frozen process
// must not be frozen again before [Process.Thaw].
func (p *Process) Freeze() error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for !stopped(p.Pid()) {
		select {
		case <-p.done:
			return ErrEnded
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

// Thaw lets a frozen process go on.
func (p *Process) Thaw() error { return p.Signal(syscall.SIGCONT) }
