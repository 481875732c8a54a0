package main

import "syscall"

// dieWithParent has a process killed when this one dies.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
