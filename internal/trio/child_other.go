//go:build !linux

package trio

import "syscall"

// childAttributes keeps the terminal's Ctrl-C from the nodes.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
