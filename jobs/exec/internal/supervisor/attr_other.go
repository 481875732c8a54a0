//go:build unix && !linux && !freebsd

package supervisor

import "syscall"

// commandAttr has no parent-death signal here: the worker kills the groups if the supervisor is
// killed.
func commandAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
