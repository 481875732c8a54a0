package exec

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// children lists the children of this process, ended ones included. The kernel may leave some out if others are reaped
// meanwhile, so only the goroutine that reaps may call it.
func children() []int {
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
	for _, pid := range processes() {
		if parent, _ := stat(pid); parent == os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

func processes() []int {
	entries, _ := os.ReadDir("/proc")
	var pids []int
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// stat returns a process's parent and when it was started; zeros if it has gone.
func stat(pid int) (parent int, start instant) {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0
	}
	// The second field is a name in parentheses, which may hold anything. After it come the state, the parent and, as
	// field 22, the start in ticks since boot, a hundred a second.
	fields := strings.Fields(string(line[bytes.LastIndexByte(line, ')')+1:]))
	if len(fields) < 20 {
		return 0, 0
	}
	parent, _ = strconv.Atoi(fields[1])
	ticks, _ := strconv.ParseInt(fields[19], 10, 64)
	return parent, instant(ticks * int64(startGrain))
}

// markOf returns the mark in the environment that a process was started with; empty if there is none to be seen.
func markOf(pid int) string {
	environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	for variable := range bytes.SplitSeq(environ, []byte{0}) {
		if mark, found := bytes.CutPrefix(variable, []byte(markVariable+"=")); found {
			return string(mark)
		}
	}
	return ""
}

func inspect(pids []int) []trait {
	traits := make([]trait, len(pids))
	for i, pid := range pids {
		_, start := stat(pid)
		traits[i] = trait{pid: pid, mark: markOf(pid), start: start}
	}
	return traits
}

// sweepMarked kills every process of the machine whose mark begins with prefix. It gives up after deathBound.
func sweepMarked(prefix string) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for killMarked(prefix) > 0 {
			time.Sleep(secondLook) // for what they have forked meanwhile, and to let them die
		}
	}()
	select {
	case <-done:
	case <-time.After(deathBound):
	}
}

func killMarked(prefix string) (killed int) {
	for _, pid := range processes() {
		// The descriptor first: it stays with this process even if the number goes to another.
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue
		}
		if strings.HasPrefix(markOf(pid), prefix) && unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil {
			killed++
		}
		_ = unix.Close(fd)
	}
	return killed
}
