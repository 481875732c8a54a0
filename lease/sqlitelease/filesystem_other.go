//go:build !linux

package sqlitelease

import (
	"errors"
	"time"
)

func checkFileSystem(string) error { return nil }

func mayBeShared(string) string { return "" }

func freeSpace(string) (bytes uint64, known bool) { return 0, false }

func lockHolder(string) string { return "" }

func watchDirectory(string, time.Duration, func()) (stop func() error, err error) {
	return nil, errors.ErrUnsupported
}
