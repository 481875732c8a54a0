package proctest

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// FollowGo ends this test process, and the processes that it has started, a moment after its `go
// test` was killed. Without it they would be left behind. It does nothing where the parent is not
// the go command, or there is no /proc. Call stop when the tests are over.
func FollowGo() (stop func()) {
	parent := os.Getppid()
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", parent))
	if err != nil || strings.TrimSpace(string(name)) != "go" {
		return func() {}
	}
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for os.Getppid() == parent {
			select {
			case <-over:
				return
			case <-time.After(200 * time.Millisecond):
			}
		}
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}()
	return func() {
		close(over)
		<-ended
	}
}
