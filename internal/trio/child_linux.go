package trio

import "syscall"

// ChildAttributes keeps the terminal's Ctrl-C from the nodes, and lets the kernel kill them if this process is killed.
func ChildAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
