package redistest

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// WithClock lets the test move the server's wall clock: see [Server.SetClock]. It needs a C
// compiler.
func WithClock() Option { return func(o *options) { o.clock = true } }

// SetClock puts the wall clock of a server that was started with [WithClock] so far ahead of the
// machine's, from now on and over restarts. Nothing else of the process is touched, as when
// somebody sets the clock of its machine.
func (s *Server) SetClock(ahead time.Duration) {
	s.t.Helper()
	file, err := os.OpenFile(s.path(clockName), os.O_WRONLY, 0)
	if err != nil {
		s.t.Fatalf("set the clock of redis-server, which needs WithClock: %v", err)
	}
	defer func() { _ = file.Close() }()
	if _, err := file.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(ahead)), 0); err != nil {
		s.t.Fatalf("set the clock of redis-server: %v", err)
	}
}

const (
	clockName = "clock"    // holds how far ahead the clock is, in ns
	shimName  = "clock.so" // is loaded before the C library
)

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
	int fd = open(getenv("REDISTEST_CLOCK"), O_RDONLY);
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

// buildShim makes what WithClock needs in the server's directory, and returns the environment that
// loads it.
func (s *Server) buildShim() []string {
	s.t.Helper()
	compiler := "cc"
	if c := os.Getenv("CC"); c != "" {
		compiler = c
	}
	source := s.path("clock.c")
	if err := os.WriteFile(source, []byte(shim), 0o600); err != nil {
		s.t.Fatalf("write the clock of redis-server: %v", err)
	}
	if out, err := exec.Command(compiler, "-shared", "-fPIC", "-O2", "-o", s.path(shimName), source, "-ldl").CombinedOutput(); err != nil {
		s.t.Fatalf("compile the clock of redis-server: %v\n%s", err, out)
	}
	if err := os.WriteFile(s.path(clockName), make([]byte, 8), 0o600); err != nil {
		s.t.Fatalf("write the clock of redis-server: %v", err)
	}
	shimPath, err := filepath.Abs(s.path(shimName))
	if err != nil {
		s.t.Fatal(err)
	}
	return append(os.Environ(), "LD_PRELOAD="+shimPath, "REDISTEST_CLOCK="+s.path(clockName))
}
