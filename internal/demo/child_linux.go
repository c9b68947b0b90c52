package main

import "syscall"

// childAttributes keeps the terminal's Ctrl-C from the nodes, which the demo stops itself, and lets the kernel kill them
// should the demo be killed.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
