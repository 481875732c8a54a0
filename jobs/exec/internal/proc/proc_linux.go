package proc

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/solotick/solotick/jobs/exec/internal/bootclock"
	"github.com/solotick/solotick/jobs/exec/internal/protocol"
)

// killAgain is how soon KillTagged looks again for what its victims have forked, and lets them die.
const killAgain = 2 * time.Millisecond

// Children lists the children of this process, ended ones included. The kernel may leave some out
// if others are reaped meanwhile, so only the goroutine that reaps may call it. Elsewhere than on
// Linux there are none.
func Children() []int {
	tasks, _ := os.ReadDir("/proc/self/task")
	var pids []int
	for _, task := range tasks {
		list, err := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
		if err != nil {
			return childrenByScan() // a kernel without these files
		}
		for field := range strings.FieldsSeq(string(list)) {
			if pid, err := strconv.Atoi(field); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

func childrenByScan() []int {
	var pids []int
	for _, pid := range Processes() {
		if parent, _ := Stat(pid); parent == os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Processes lists the processes of the machine.
func Processes() []int {
	entries, _ := os.ReadDir("/proc")
	var pids []int
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Stat returns a process's parent and when it was started; zeros if it has gone.
func Stat(pid int) (parent int, start bootclock.Instant) {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0
	}
	// The second field is a name in parentheses, which may hold anything. After it come the state,
	// the parent and, as field 22, the start in ticks since boot, a hundred a second.
	fields := strings.Fields(string(line[bytes.LastIndexByte(line, ')')+1:]))
	if len(fields) < 20 {
		return 0, 0
	}
	parent, _ = strconv.Atoi(fields[1])
	ticks, _ := strconv.ParseInt(fields[19], 10, 64)
	return parent, bootclock.Instant(ticks * int64(StartGrain))
}

// TagOf returns the tag in the environment that a process was started with, or "" if it shows none.
func TagOf(pid int) string {
	environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	for variable := range bytes.SplitSeq(environ, []byte{0}) {
		if tag, found := bytes.CutPrefix(variable, []byte(protocol.TagVariable+"=")); found {
			return string(tag)
		}
	}
	return ""
}

// KillTagged kills every process of the machine whose tag begins with prefix. It gives up after
// timeout.
func KillTagged(prefix string, timeout time.Duration) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for killTagged(prefix) > 0 {
			time.Sleep(killAgain)
		}
	}()
	select {
	case <-done:
	case <-time.After(timeout):
	}
}

func killTagged(prefix string) (killed int) {
	for _, pid := range Processes() {
		// The descriptor first: it stays with this process even if the number goes to another.
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue
		}
		if strings.HasPrefix(TagOf(pid), prefix) && unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil {
			killed++
		}
		_ = unix.Close(fd)
	}
	return killed
}
