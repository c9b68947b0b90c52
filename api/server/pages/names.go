package pages

import (
	"net"
	"os"
)

// Names are the names by which clients call an HTTP port (SPEC A6): what the operator says, and the hosts of the addresses, the first
// of which is the port's own. A port on all addresses of the machine also has the machine's name.
func Names(given []string, addrs ...string) []string {
	names := append([]string{}, given...)
	for i, addr := range addrs {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			continue
		}
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			machine, err := os.Hostname()
			if i > 0 || err != nil || CheckName(machine) != nil {
				continue
			}
			host = machine
		}
		names = append(names, host)
	}
	return names
}
