package skewtest

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Clock is the wall clock of server processes.
type Clock struct {
	dir string
	env []string
}

const (
	clockVariable = "SOLOTICK_TEST_CLOCK" // names the file
	clockName     = "clock"               // holds how far ahead the clock is, in ns
	shimName      = "clock.so"            // is loaded before the C library
)

// NewGoClock makes a clock of programs that are built with an [Overlay], in a directory that they
// may read.
func NewGoClock(dir string) (*Clock, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	c := &Clock{dir: dir}
	c.env = []string{clockVariable + "=" + c.path(clockName)}
	return c, os.WriteFile(c.path(clockName), make([]byte, 8), 0o644) //nolint:gosec // the server may run as another user
}

// NewClock is NewGoClock for programs that are written in C. It needs a C compiler.
func NewClock(dir string) (*Clock, error) {
	c, err := NewGoClock(dir)
	if err != nil {
		return nil, err
	}
	c.env = append(c.env, "LD_PRELOAD="+c.path(shimName))
	source := c.path("clock.c")
	if err := os.WriteFile(source, []byte(shim), 0o600); err != nil {
		return nil, err
	}
	compiler := "cc"
	if set := os.Getenv("CC"); set != "" {
		compiler = set
	}
	if out, err := exec.Command(compiler, "-shared", "-fPIC", "-O2", "-o", c.path(shimName), source, "-ldl").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("compile the clock: %w\n%s", err, out)
	}
	return c, nil
}

// Env returns what the environment of a server needs besides.
func (c *Clock) Env() []string { return c.env }

// Set puts the wall clock so far ahead of the machine's, from now on and over restarts. Nothing
// else of the process is touched, as when somebody sets the clock of its machine.
func (c *Clock) Set(ahead time.Duration) error {
	file, err := os.OpenFile(c.path(clockName), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	_, err = file.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(ahead)), 0) //nolint:gosec // the shim reads it with its sign
	return err
}

func (c *Clock) path(name string) string { return filepath.Join(c.dir, name) }

// shim adds what the file says to the wall clock, and leaves the monotonic clock as it is.
const shim = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

static volatile int64_t *ahead;

__attribute__((constructor)) static void begin(void) {
	int fd = open(getenv("SOLOTICK_TEST_CLOCK"), O_RDONLY);
	void *m = mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, fd, 0);
	if (fd < 0 || m == MAP_FAILED) abort();
	ahead = m;
}

int clock_gettime(clockid_t id, struct timespec *t) {
	static int (*real)(clockid_t, struct timespec *);
	if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
	int r = real(id, t);
	if (r == 0 && ahead && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) {
		int64_t ns = t->tv_nsec + *ahead % 1000000000;
		t->tv_sec += *ahead / 1000000000;
		if (ns < 0) { ns += 1000000000; t->tv_sec--; }
		if (ns >= 1000000000) { ns -= 1000000000; t->tv_sec++; }
		t->tv_nsec = ns;
	}
	return r;
}

int gettimeofday(struct timeval *t, void *zone) {
	struct timespec s;
	int r = clock_gettime(CLOCK_REALTIME, &s);
	(void)zone;
	t->tv_sec = s.tv_sec;
	t->tv_usec = s.tv_nsec / 1000;
	return r;
}

time_t time(time_t *t) {
	struct timespec s;
	clock_gettime(CLOCK_REALTIME, &s);
	if (t) *t = s.tv_sec;
	return s.tv_sec;
}
`
