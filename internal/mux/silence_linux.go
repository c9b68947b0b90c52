package mux

import "syscall"

// tcpUserTimeout is TCP_USER_TIMEOUT of linux/tcp.h. Package syscall lacks it, and clients link this package and shall
// not link golang.org/x/sys.
const tcpUserTimeout = 18

func endUnacknowledged(fd int) {
	_ = syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, tcpUserTimeout, int(unacknowledged.Milliseconds()))
}
