//go:build !linux

package trio

import "syscall"

// ChildAttributes keeps the terminal's Ctrl-C from the nodes.
func ChildAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
