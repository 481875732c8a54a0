//go:build !linux

package guards

import "syscall"

// childAttributes have nothing to offer where the kernel knows no parent-death signal.
func childAttributes(syscall.Signal) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
