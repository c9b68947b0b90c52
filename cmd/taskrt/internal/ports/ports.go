// Package ports reads the addresses of a process's ports: where it listens, where others find it, and who may reach it (SPEC A6, C1).
package ports

import (
	"fmt"
	"net"
	"strconv"

	"github.com/taskrt/taskrt/internal/discover"
)

// Advertised is the address that others dial: what the operator says, else the address to listen on, but with the port that was found for port 0. If
// a port listens on all interfaces, its host is the host of the node-to-node address, which has been checked to have one.
func Advertised(said, given string, ln net.Listener, raft string) string {
	if said != "" {
		return said
	}
	host, _, err := net.SplitHostPort(given)
	_, port, err2 := net.SplitHostPort(ln.Addr().String())
	if err != nil || err2 != nil {
		return ln.Addr().String()
	}
	if all(host) {
		host, _, _ = net.SplitHostPort(raft)
	}
	return net.JoinHostPort(host, port)
}

// all reports whether a host stands for all addresses of the machine.
func all(host string) bool {
	ip := net.ParseIP(host)
	return host == "" || ip != nil && ip.IsUnspecified()
}

// CheckAdvertised returns an error if others cannot dial the address that is told for a port. If none is told, it returns an error if they cannot
// dial the address at which the port listens. flag is the flag that says where it listens.
func CheckAdvertised(flag, listens, said string) error {
	if said == "" {
		if host, _, _ := net.SplitHostPort(listens); all(host) {
			return fmt.Errorf("--%s %s stands for all addresses of the machine: say --%s-advertise HOST:PORT, by which the others find it", flag, listens, flag)
		}
		return nil
	}
	host, port, err := net.SplitHostPort(said)
	if n, e := strconv.ParseUint(port, 10, 16); err != nil || e != nil || n == 0 || all(host) {
		return fmt.Errorf("--%s-advertise must be HOST:PORT as the others dial it, not %q", flag, said)
	}
	return nil
}

// CheckJoin returns an error if an entry of --join has none of its forms.
func CheckJoin(entries []string) error {
	for _, entry := range entries {
		if err := discover.Check(entry); err != nil {
			return fmt.Errorf("--join: %w", err)
		}
	}
	return nil
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
