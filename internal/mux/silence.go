package mux

import (
	"net"
	"time"
)

// unacknowledged is how long a peer's kernel may leave what was sent unacknowledged before the connection ends. TCP alone
// sends again after times that double: when a partition that drops packets has healed after ten seconds, up to ten more
// pass before anything moves, and a request waits for them, or for its own deadline. A connection that has ended is
// dialed anew at once. A peer that is starved acknowledges: its kernel does.
const unacknowledged = 3 * time.Second

// keepAlive lets a connection end on which this side waits for the peer, and has sent nothing that could stay
// unacknowledged.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 2 * time.Second, Interval: time.Second, Count: 3}

// endInSilence lets a TCP connection end when its peer is silent. Other connections, and systems that do not offer it,
// stay as they are.
func endInSilence(c net.Conn) {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return
	}
	_ = tcp.SetKeepAliveConfig(keepAlive)
	if raw, err := tcp.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { endUnacknowledged(int(fd)) })
	}
}
