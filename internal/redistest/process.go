package redistest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

const (
	// answerBound is far more than a server needs on a loaded machine; past it something is wrong.
	answerBound = 30 * time.Second
	logName     = "redis.log"
)

var errPortTaken = errors.New("its port is taken")

// process is one run of redis-server.
type process struct {
	cmd  *exec.Cmd
	dir  string
	done chan struct{} // closed when the process is reaped; state may be read then
	err  error
}

// launch starts redis-server in dir, which holds its redis.conf, with further arguments and that environment, nil
// for that of this process, and returns when it answers.
func launch(binary, dir string, env []string, args ...string) (*process, error) {
	log, err := os.OpenFile(filepath.Join(dir, logName), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the child has a copy
	p := &process{cmd: exec.Command(binary, append([]string{"redis.conf"}, args...)...), dir: dir, done: make(chan struct{})}
	p.cmd.Env = env
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, log, log
	p.cmd.SysProcAttr = dieWithParent()
	if err := p.start(); err != nil {
		return nil, err
	}
	if err := p.awaitAnswer(); err != nil {
		p.kill()
		return nil, err
	}
	return p, nil
}

func (p *process) start() error {
	started := make(chan error)
	go func() {
		// The kernel takes the thread that forked for the parent, so that thread has to live as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return <-started
}

// awaitAnswer asks over the unix socket: it is in a directory that nobody else has, while a server that answers on the
// port may be another one that was faster to take it.
func (p *process) awaitAnswer() error {
	socket := filepath.Join(p.dir, socketName)
	bound := time.After(answerBound)
	for {
		err := ask(socket, "PING", "+PONG")
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return p.obituary()
		case <-bound:
			return fmt.Errorf("no answer in %v: %w; its log ends:\n%s", answerBound, err, p.logEnd())
		case <-time.After(time.Millisecond):
		}
	}
}

// kill returns when the process is gone, and whether it was kill that ended it.
func (p *process) kill() bool {
	_ = p.cmd.Process.Kill() // an error says that it has ended already
	<-p.done
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

func (p *process) freeze() error {
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for !stopped(p.cmd.Process.Pid) {
		select {
		case <-p.done:
			return p.obituary()
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

// obituary says how a process that is gone has ended.
func (p *process) obituary() error {
	end := p.logEnd()
	if strings.Contains(end, "Address already in use") {
		return errPortTaken
	}
	how := "exit status 0"
	if p.err != nil {
		how = p.err.Error()
	}
	return fmt.Errorf("it ended with %s; its log ends:\n%s", how, end)
}

func (p *process) logEnd() string {
	log, err := os.ReadFile(filepath.Join(p.dir, logName))
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(log), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-20):], []byte("\n")))
}

// ask sends one command without arguments as admin and compares the answer's first line.
func ask(socket, command, want string) error {
	conn, err := net.DialTimeout("unix", socket, answerBound)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(answerBound)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(conn, "AUTH %s %s\r\n%s\r\n", admin, admin, command); err != nil {
		return err
	}
	answers := bufio.NewScanner(conn)
	for _, want := range []string{"+OK", want} {
		if !answers.Scan() {
			return fmt.Errorf("%s: connection closed: %w", command, errors.Join(answers.Err(), net.ErrClosed))
		}
		if answers.Text() != want {
			return fmt.Errorf("%s: answer %q, want %q", command, answers.Text(), want)
		}
	}
	return nil
}
