package sqlitelease

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// networks are file systems, by magic number, whose files several machines can open. Locks and
// shared memory do not work across machines there.
var networks = map[uint32]string{
	0x6969: "NFS", 0xff534d42: "CIFS", 0xfe534d42: "SMB", 0x517b: "SMB", 0x00c36400: "Ceph", 0x0bd00bd0: "Lustre",
	0x47504653: "GPFS", 0x5346414f: "AFS", 0x6b414653: "AFS", 0x73757245: "Coda", 0x01161970: "GFS2", 0x7461636f: "OCFS2",
}

// maybeShared are file systems that may be such.
var maybeShared = map[uint32]string{0x65735546: "FUSE", 0x01021997: "9P"}

// checkFileSystem refuses a directory on a network file system.
func checkFileSystem(dir string) error {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	if name, ok := networks[uint32(s.Type)]; ok { //nolint:gosec // magic numbers have 32 bits
		return fmt.Errorf("%w (%s)", errNetwork, name)
	}
	return nil
}

// mayBeShared returns the name of a file system that other machines may have open too, or "".
func mayBeShared(dir string) string {
	var s syscall.Statfs_t
	_ = syscall.Statfs(dir, &s)
	return maybeShared[uint32(s.Type)] //nolint:gosec // magic numbers have 32 bits
}

// freeSpace returns how much room there is for this process.
func freeSpace(dir string) (bytes uint64, known bool) {
	var s syscall.Statfs_t
	if syscall.Statfs(dir, &s) != nil {
		return 0, false
	}
	return s.Bavail * uint64(s.Bsize), true //nolint:gosec // a size is not negative
}

// watchDirectory calls changed after somebody has written to a file in the directory, at most once
// in each pause, until stop is called.
func watchDirectory(dir string, pause time.Duration, changed func()) (stop func() error, err error) {
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("inotify_init1", err)
	}
	events := os.NewFile(uintptr(fd), "inotify")
	if _, err := syscall.InotifyAddWatch(fd, dir, syscall.IN_MODIFY|syscall.IN_CREATE|syscall.IN_DELETE|syscall.IN_MOVE); err != nil {
		return nil, errors.Join(os.NewSyscallError("inotify_add_watch", err), events.Close())
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for buffer := make([]byte, 1<<14); ; time.Sleep(pause) {
			if _, err := events.Read(buffer); err != nil {
				return
			}
			changed()
		}
	}()
	return func() error {
		err := events.Close()
		<-ended
		return err
	}, nil
}

// lockHolder returns " (process N)" for the process that holds the write lock, if the kernel shows
// it.
func lockHolder(path string) string {
	var s syscall.Stat_t
	locks, err := os.ReadFile("/proc/locks")
	if err != nil || syscall.Stat(path+"-shm", &s) != nil {
		return ""
	}
	const writeLock = " 120 120" // the byte of the write-ahead log's index that a writer locks
	for line := range strings.Lines(string(locks)) {
		fields := strings.Fields(line)
		if len(fields) > 5 && strings.HasSuffix(strings.TrimSpace(line), writeLock) && strings.HasSuffix(fields[5], fmt.Sprint(":", s.Ino)) {
			return fmt.Sprintf(" (process %s)", fields[4])
		}
	}
	return ""
}
