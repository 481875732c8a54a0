//go:build !linux

package redistest

import "syscall"

// dieWithParent has nothing to offer where the kernel knows no parent-death signal: a test process that is killed
// leaves its servers behind there.
func dieWithParent() *syscall.SysProcAttr { return nil }

// stopped cannot find out here, and trusts that the signal arrived.
func stopped(int) bool { return true }
