// Package ports reads the addresses of a process's ports: where it listens, where others find it, and who may reach it (SPEC A6, C1).
package ports

import (
	"fmt"
	"net"
)

// Advertised is the address that others dial. It is the given address, so that a name stays a name, but with the port
// that was found for port 0. If HTTP listens on all interfaces, it has the host of the node-to-node address.
func Advertised(given string, ln net.Listener, raft string) string {
	host, _, err := net.SplitHostPort(given)
	_, port, err2 := net.SplitHostPort(ln.Addr().String())
	if err != nil || err2 != nil {
		return ln.Addr().String()
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host, _, _ = net.SplitHostPort(raft)
	}
	return net.JoinHostPort(host, port)
}

// CheckLoopback refuses an address that others can reach unless closed says that they get nothing there. say is the flag that closes it, or opens
// it all the same (SPEC C5, A6).
func CheckLoopback(flag, addr string, closed bool, say string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || port == "" {
		return fmt.Errorf("--%s must be HOST:PORT, not %q", flag, addr)
	}
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() || closed {
		return nil
	}
	return fmt.Errorf("--%s %s can be reached by others, and answers whoever comes: say %s if the network is yours alone", flag, addr, say)
}
