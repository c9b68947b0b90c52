package main

import (
	"net"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api/server/pages"
)

// httpHostFlag adds names to those that httpNames finds by itself.
func httpHostFlag(command string) cli.Flag {
	return stringFlag(command, "http-host", "", "NAME,… by which clients reach the HTTP port, besides those of the addresses: of a proxy, of a service")
}

// readHosts reads httpHostFlag.
func readHosts(c *cli.Context) ([]string, error) {
	names := splitList(c.String("http-host"))
	if len(names) > pages.MaxNames {
		return nil, usagef(c, "--http-host has %d names, at most %d", len(names), pages.MaxNames)
	}
	for _, name := range names {
		if err := pages.CheckName(name); err != nil {
			return nil, usagef(c, "--http-host: %w", err)
		}
	}
	return names, nil
}

// httpNames are the names by which clients call an HTTP port (SPEC A6): what the operator says, and the hosts of the addresses, the first
// of which is the port's own. A port on all addresses of the machine also has the machine's name.
func httpNames(given []string, addrs ...string) []string {
	names := append([]string{}, given...)
	for i, addr := range addrs {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			continue
		}
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			machine, err := os.Hostname()
			if i > 0 || err != nil || pages.CheckName(machine) != nil {
				continue
			}
			host = machine
		}
		names = append(names, host)
	}
	return names
}
