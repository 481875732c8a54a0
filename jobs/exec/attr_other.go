//go:build unix && !linux && !freebsd

package exec

import "syscall"

// commandAttr has no parent-death signal here: if the guard is killed, the worker kills the groups.
func commandAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
