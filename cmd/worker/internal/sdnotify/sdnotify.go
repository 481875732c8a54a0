// Package sdnotify reports to systemd when the worker is ready, when it stops, and that it is
// alive. It speaks the protocol of sd_notify(3) to the socket that systemd names in the
// environment.
package sdnotify

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// Names of the variables that systemd sets.
const (
	socketVariable      = "NOTIFY_SOCKET"
	watchdogVariable    = "WATCHDOG_USEC"
	watchdogPIDVariable = "WATCHDOG_PID"
)

// maxBeat is the longest time between two looks at the worker's status.
const maxBeat = 10 * time.Second

// Notifier sends notifications. The nil Notifier sends none.
type Notifier struct {
	addr     net.UnixAddr
	watchdog time.Duration // 0: systemd expects no signs of life
}

// FromEnvironment returns nil where the program was not started by systemd as a unit of
// Type=notify. lookup looks a variable up, as [os.LookupEnv] does.
func FromEnvironment(lookup func(string) (string, bool)) (*Notifier, error) {
	socket, _ := lookup(socketVariable)
	if socket == "" {
		return nil, nil //nolint:nilnil // the nil Notifier is a valid one
	}
	if socket[0] != '/' && socket[0] != '@' {
		return nil, fmt.Errorf("%s: %q must be the path of a socket, or an abstract one that starts with @", socketVariable, socket)
	}
	n := &Notifier{addr: net.UnixAddr{Net: "unixgram", Name: socket}}
	usec, ok := lookup(watchdogVariable)
	if pid, of := lookup(watchdogPIDVariable); !ok || of && pid != strconv.Itoa(os.Getpid()) {
		return n, nil // there is no watchdog, or another process has it
	}
	count, err := strconv.ParseInt(usec, 10, 64)
	if err != nil || count <= 0 || count > int64(24*time.Hour/time.Microsecond) {
		return nil, fmt.Errorf("%s: %q must be a number of microseconds, of at most a day", watchdogVariable, usec)
	}
	n.watchdog = time.Duration(count) * time.Microsecond
	return n, nil
}

// HideFromChildren removes systemd's variables from this process's environment, which commands of
// jobs inherit: what they would send there would be taken for the worker's.
func HideFromChildren() error {
	return errors.Join(os.Unsetenv(socketVariable), os.Unsetenv(watchdogVariable), os.Unsetenv(watchdogPIDVariable))
}

// Ready says that the worker has started.
func (n *Notifier) Ready() error { return n.send("READY=1") }

// Stopping says that the worker has begun to stop.
func (n *Notifier) Stopping() error { return n.send("STOPPING=1") }

// Beat shows the worker's status and feeds the watchdog until ctx ends. It calls status twice
// within the watchdog's time: where status does not return, systemd ends the worker and starts
// another. Errors are ignored: systemd notices missing signs of life by itself.
func (n *Notifier) Beat(ctx context.Context, status func() string) {
	if n == nil {
		return
	}
	every := maxBeat
	if n.watchdog > 0 {
		every = min(every, n.watchdog/2)
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	shown := ""
	for {
		var lines []string
		if now := status(); now != shown {
			lines, shown = append(lines, "STATUS="+strings.ReplaceAll(now, "\n", " ")), now
		}
		if n.watchdog > 0 {
			lines = append(lines, "WATCHDOG=1")
		}
		_ = n.send(lines...)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

func (n *Notifier) send(lines ...string) error {
	if n == nil || len(lines) == 0 {
		return nil
	}
	conn, err := net.DialUnix(n.addr.Net, nil, &n.addr)
	if err != nil {
		return fmt.Errorf("notify systemd: %w", err)
	}
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second)) // systemd may not read
	_, err = conn.Write([]byte(strings.Join(lines, "\n")))
	if err = errors.Join(err, conn.Close()); err != nil {
		return fmt.Errorf("notify systemd: %w", err)
	}
	return nil
}
