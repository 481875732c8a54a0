package guards

import "syscall"

// childAttributes keep a server from outliving the test process.
func childAttributes(s syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: s, Setpgid: true}
}
