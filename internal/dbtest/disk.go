package dbtest

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// PostgresOnDisk is Postgres on a disk that can be full: see SetFull. It needs a C compiler. Its clock
// is the machine's.
func PostgresOnDisk(ping func(ctx context.Context, dir string) error) (*Server, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	s := &Server{quit: syscall.SIGQUIT, Addr: addr, ping: ping, tree: true}
	_, port, _ := net.SplitHostPort(addr)
	return s, s.start(initDB, func(dir string) (*exec.Cmd, error) {
		c, err := postgres(dir, "listen_addresses=127.0.0.1", "port="+port)
		if err == nil {
			c.Env = []string{"LD_PRELOAD=" + filepath.Join(dir, "disk.so"), "SOLOTICK_TEST_FULL=" + filepath.Join(dir, full)}
		}
		return c, err
	}, compileDisk)
}

const full = "full" // is there while the disk is

// SetFull has the disk of a server of PostgresOnDisk be full, or not: files grow no more, and what they
// have is still written over.
func (s *Server) SetFull(is bool) error {
	path := filepath.Join(s.Dir, full)
	if is {
		return os.WriteFile(path, nil, 0o600)
	}
	return os.Remove(path)
}

func compileDisk(dir string) error {
	source := filepath.Join(dir, "disk.c")
	if err := os.WriteFile(source, []byte(disk), 0o600); err != nil {
		return err
	}
	c := exec.Command(cmp.Or(os.Getenv("CC"), "cc"), "-shared", "-fPIC", "-O2", "-o", filepath.Join(dir, "disk.so"), source, "-ldl")
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("compile the disk: %w\n%s", err, out)
	}
	return nil
}

// disk refuses calls that make a file longer.
const disk = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static int refused(int fd, off_t end) {
	struct stat s;
	if (access(getenv("SOLOTICK_TEST_FULL"), F_OK) || fstat(fd, &s) || !S_ISREG(s.st_mode) || end <= s.st_size) return 0;
	errno = ENOSPC;
	return 1;
}

#define real(result, name, ...) ((result (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name))

ssize_t pwrite(int fd, const void *b, size_t n, off_t at) {
	if (refused(fd, at + n)) return -1;
	return real(ssize_t, "pwrite", int, const void *, size_t, off_t)(fd, b, n, at);
}

ssize_t pwritev(int fd, const struct iovec *v, int count, off_t at) {
	size_t n = 0;
	for (int i = 0; i < count; i++) n += v[i].iov_len;
	if (refused(fd, at + n)) return -1;
	return real(ssize_t, "pwritev", int, const struct iovec *, int, off_t)(fd, v, count, at);
}

ssize_t write(int fd, const void *b, size_t n) {
	off_t at = lseek(fd, 0, SEEK_CUR);
	if (at >= 0 && refused(fd, at + n)) return -1;
	return real(ssize_t, "write", int, const void *, size_t)(fd, b, n);
}

int posix_fallocate(int fd, off_t at, off_t n) {
	if (refused(fd, at + n)) return ENOSPC;
	return real(int, "posix_fallocate", int, off_t, off_t)(fd, at, n);
}
`
