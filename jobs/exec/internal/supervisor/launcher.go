package supervisor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/solotick/solotick/jobs/exec/internal/protocol"
)

// launcher starts commands, one at a time, on an operating-system thread of its own. That thread is
// the parent that the parent-death signal follows, so it must live as long as the process. A file
// system that hangs while a program is loaded from it hangs this thread only.
type launcher struct {
	requests chan *protocol.Start
	launched chan launched
	devNull  *os.File
}

// launched is the answer to one request.
type launched struct {
	pid    int
	files  []*os.File    // the reading ends of stdout, stderr and protocol.CheckpointFD
	failed *protocol.End // if it could not be started
}

func newLauncher() (*launcher, error) {
	devNull, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	l := &launcher{requests: make(chan *protocol.Start, 1), launched: make(chan launched), devNull: devNull}
	go l.run()
	return l, nil
}

func (l *launcher) run() {
	runtime.LockOSThread()
	for s := range l.requests {
		l.launched <- l.launch(s)
	}
}

func (l *launcher) launch(s *protocol.Start) launched {
	// The child reports one error number for both the directory and the program; this shows which
	// it was.
	if info, err := os.Stat(s.Dir); err != nil {
		return notStarted("go to directory "+s.Dir, err)
	} else if !info.IsDir() {
		return notStarted("go to directory "+s.Dir, unix.ENOTDIR)
	}
	path := lookup(s.Env, "PATH")
	program, err := findProgram(s.Args[0], path)
	if err != nil {
		return notStarted(fmt.Sprintf("look up %q in PATH %s", s.Args[0], path), err)
	}

	var ends []*os.File
	closeAll := func() {
		for _, f := range ends {
			_ = f.Close()
		}
	}
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll()
			return notStarted("create a pipe", err)
		}
		ends = append(ends, r, w)
	}
	outW, errW, pointW := ends[1], ends[3], ends[5]
	pid, err := syscall.ForkExec(program, s.Args, &syscall.ProcAttr{
		Dir:   s.Dir,
		Env:   s.Env,
		Files: []uintptr{l.devNull.Fd(), outW.Fd(), errW.Fd(), pointW.Fd()}, // Fd also makes writing block, as commands expect
		Sys:   commandAttr(),
	})
	if err != nil {
		closeAll()
		return notStarted("execute "+program+hint(s.Dir, program, err), err)
	}
	_, _, _ = outW.Close(), errW.Close(), pointW.Close()
	return launched{pid: pid, files: []*os.File{ends[0], ends[2], ends[4]}}
}

// findProgram looks a name without a slash up in path, as a shell would.
func findProgram(name, path string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil // relative to the working directory, in which the child is by then
	}
	denied := false
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue // not from wherever the command happens to run
		}
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err != nil || info.IsDir() {
			continue
		}
		if unix.Access(file, unix.X_OK) == nil {
			return file, nil
		}
		denied = true
	}
	if denied {
		return "", unix.EACCES
	}
	return "", unix.ENOENT
}

// hint says what the error of an execution does not.
func hint(dir, program string, err error) string {
	if !filepath.IsAbs(program) {
		program = filepath.Join(dir, program)
	}
	_, statErr := os.Stat(program)
	switch {
	case errors.Is(err, unix.ENOEXEC):
		return " (does it begin with #! and the path of an interpreter?)"
	case errors.Is(err, unix.ENOENT) && statErr == nil:
		return " (the file exists, but the interpreter that its first line names does not)"
	default:
		return ""
	}
}

// notStarted carries an error over to the worker, which wraps the error number again.
func notStarted(what string, err error) launched {
	failed := &protocol.End{Reason: protocol.ReasonNotStarted, Failure: what}
	if !errors.As(err, &failed.Errno) {
		failed.Failure += ": " + err.Error()
	}
	return launched{failed: failed}
}

// lookup returns the value of a variable in env, the last one if there are several.
func lookup(env []string, name string) string {
	for _, variable := range slices.Backward(env) {
		if value, found := strings.CutPrefix(variable, name+"="); found {
			return value
		}
	}
	return ""
}
