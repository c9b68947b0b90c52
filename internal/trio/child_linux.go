package trio

import "syscall"

// ChildAttributes keeps the terminal's Ctrl-C from the nodes, and lets the kernel kill them should this process be killed.
func ChildAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
