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
	"strings"
	"time"

	"github.com/solotick/solotick/internal/proctest"
)

const (
	// answerBound is far more than a server needs on a loaded machine; past it something is wrong.
	answerBound = 30 * time.Second
	logName     = "redis.log"
)

var errPortTaken = errors.New("its port is taken")

// process is one run of redis-server.
type process struct {
	*proctest.Process
	dir string
}

// launch starts redis-server in dir, which holds its redis.conf, with further arguments and that
// environment, nil for that of this process, and returns when it answers.
func launch(binary, dir string, env []string, args ...string) (*process, error) {
	log, err := os.OpenFile(filepath.Join(dir, logName), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the child has a copy
	cmd := exec.Command(binary, append([]string{"redis.conf"}, args...)...)
	cmd.Env = env
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	started, err := proctest.Start(cmd)
	if err != nil {
		return nil, err
	}
	p := &process{started, dir}
	if err := p.awaitAnswer(); err != nil {
		p.Kill()
		return nil, err
	}
	return p, nil
}

// awaitAnswer asks over the unix socket, which is in a directory of this server alone. A server
// that answers on the port may be another one that was faster to take it.
func (p *process) awaitAnswer() error {
	socket := filepath.Join(p.dir, socketName)
	bound := time.After(answerBound)
	for {
		err := ask(socket, "PING", "+PONG")
		if err == nil {
			return nil
		}
		select {
		case <-p.Done():
			return p.obituary()
		case <-bound:
			return fmt.Errorf("no answer in %v: %w; its log ends:\n%s", answerBound, err, p.logEnd())
		case <-time.After(time.Millisecond):
		}
	}
}

func (p *process) freeze() error {
	err := p.Freeze()
	if errors.Is(err, proctest.ErrEnded) {
		return p.obituary()
	}
	return err
}

// obituary says how a process that is gone has ended.
func (p *process) obituary() error {
	end := p.logEnd()
	if strings.Contains(end, "Address already in use") {
		return errPortTaken
	}
	how := "exit status 0"
	if err := p.Err(); err != nil {
		how = err.Error()
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
