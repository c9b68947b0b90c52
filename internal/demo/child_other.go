//go:build !linux

package main

import "syscall"

// childAttributes keeps the terminal's Ctrl-C from the nodes, which the demo stops itself.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
