package browser

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// chrome is a Chromium of its own, without a window. It is spoken to in JSON over two pipes, as its
// DevTools protocol has it.
type chrome struct {
	cmd *exec.Cmd
	dir string
	in  *os.File

	mu      sync.Mutex
	next    int
	pending map[int]chan reply
	tabs    map[string]*tab // by session
	err     error           // why it answers no more
}

type reply struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

type message struct {
	ID        int
	SessionID string
	Method    string
	Params    json.RawMessage
	reply
}

// flags let it run as root, ask no other host for anything, and keep nothing.
var flags = []string{
	"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
	"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--force-color-profile=srgb", "--remote-debugging-pipe",
}

func startChrome() (*chrome, error) {
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil && path == "" {
			path = found
		}
	}
	if path == "" {
		return nil, errors.New("there is no chromium on the PATH: internal/scripts/deps.sh installs it")
	}
	dir, err := os.MkdirTemp("", "solotick-browser-")
	if err != nil {
		return nil, err
	}
	toIt, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, fromIt, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c := &chrome{dir: dir, in: in, pending: map[int]chan reply{}, tabs: map[string]*tab{}}
	c.cmd = exec.Command(path, append(flags, "--user-data-dir="+dir)...) //nolint:gosec // found on the PATH
	c.cmd.ExtraFiles = []*os.File{toIt, fromIt}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	_, _ = toIt.Close(), fromIt.Close()
	go c.read(out)
	return c, nil
}

func (c *chrome) stop() {
	_, _ = c.call("", "Browser.close", nil)
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
	_ = os.RemoveAll(c.dir)
}

// read takes each message to the call or the tab that it is for.
func (c *chrome) read(out *os.File) {
	r := bufio.NewReader(out)
	for {
		text, err := r.ReadBytes(0)
		if err != nil {
			c.fail(fmt.Errorf("chromium has ended: %w", err))
			return
		}
		var m message
		if err := json.Unmarshal(text[:len(text)-1], &m); err != nil {
			c.fail(err)
			return
		}
		c.mu.Lock()
		answer, tab := c.pending[m.ID], c.tabs[m.SessionID]
		delete(c.pending, m.ID)
		c.mu.Unlock()
		if m.ID != 0 && answer != nil {
			answer <- m.reply
		} else if tab != nil {
			tab.event(m.Method, m.Params)
		}
	}
}

func (c *chrome) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
	for id, answer := range c.pending {
		close(answer)
		delete(c.pending, id)
	}
}

// call sends a command, and returns its result.
func (c *chrome) call(session, method string, params any) (json.RawMessage, error) {
	if params == nil {
		params = struct{}{}
	}
	answer := make(chan reply, 1)
	c.mu.Lock()
	if c.err != nil {
		defer c.mu.Unlock()
		return nil, c.err
	}
	c.next++
	c.pending[c.next] = answer
	command := map[string]any{"id": c.next, "method": method, "params": params}
	if session != "" {
		command["sessionId"] = session
	}
	text, err := json.Marshal(command)
	if err == nil {
		_, err = c.in.Write(append(text, 0))
	}
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case r, ok := <-answer:
		switch {
		case !ok:
			return nil, errors.New("chromium has ended")
		case r.Error != nil:
			return nil, fmt.Errorf("%s: %s", method, strings.TrimSpace(r.Error.Message))
		}
		return r.Result, nil
	case <-time.After(patience):
		return nil, fmt.Errorf("%s: no answer within %s", method, patience)
	}
}
