//go:build unix && !linux

package exec

import (
	"context"
	"os"
	osexec "os/exec"
)

// started are the processes that this package has started and waits for itself.
var started startedProcesses

type startedProcesses struct{}

func (startedProcesses) start(c *osexec.Cmd) error { return c.Start() }
func (startedProcesses) wait(c *osexec.Cmd)        { _ = c.Wait() }

// ReapOrphans does nothing on this system: see its documentation on Linux.
func ReapOrphans(context.Context) {}

func thisProgram() (string, error) { return os.Executable() }
