package main

import (
	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api/server/pages"
)

// httpHostFlag adds names to the names that pages.Names finds by itself.
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
