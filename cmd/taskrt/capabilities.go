package main

import (
	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/internal/wall"
	"github.com/taskrt/taskrt/runtime/grants"
)

func capabilitiesFlag(cmd string) cli.Flag {
	return stringFlag(cmd, "capabilities", "", "FILE.json with the secrets, HTTP requests and child tasks that behaviors are granted; default: none")
}

// readGrants reads the file of --capabilities; nil: there is none.
func readGrants(c *cli.Context) (*grants.Grants, error) {
	file := c.String("capabilities")
	if file == "" {
		return nil, nil
	}
	if err := wall.Close(); err != nil { // secrets will be in this process (SPEC A9)
		return nil, err
	}
	g, err := grants.Read(file)
	if err != nil {
		return nil, usagef(c, "--capabilities: %w", err)
	}
	return g, nil
}
