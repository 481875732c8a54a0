package supervisor

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/solotick/solotick/jobs/exec/internal/bootclock"
)

// alarm sends on c at an instant. It follows the boot clock, so one that passed while the machine
// was suspended is sent right after it has woken up. Go's timers would add the length of the
// suspension.
type alarm struct {
	c    chan struct{} // of size 1: wake-ups coalesce
	fd   int
	file *os.File
	at   bootclock.Instant
}

func newAlarm() (*alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("create a timer: %w", err)
	}
	a := &alarm{c: make(chan struct{}, 1), fd: fd, file: os.NewFile(uintptr(fd), "alarm")}
	go a.read()
	return a, nil
}

func (a *alarm) read() {
	var expirations [8]byte
	for {
		if _, err := a.file.Read(expirations[:]); err != nil {
			return
		}
		select {
		case a.c <- struct{}{}:
		default:
		}
	}
}

// set moves the alarm. An instant that has passed is sent at once.
func (a *alarm) set(at bootclock.Instant) {
	if at == a.at {
		return
	}
	a.at = at
	value := unix.NsecToTimespec(int64(max(at, 1))) // all zero would switch the timer off
	if err := unix.TimerfdSettime(a.fd, unix.TFD_TIMER_ABSTIME, &unix.ItimerSpec{Value: value}, nil); err != nil {
		panic("exec: set a timer: " + err.Error())
	}
}
