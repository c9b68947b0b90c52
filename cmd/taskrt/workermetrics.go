package main

import (
	"fmt"
	"log/slog"
	"net"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api/server/pages"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/exit"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/ports"
	"github.com/taskrt/taskrt/metrics"
)

// metricsConfig says which build it is that measures.
func metricsConfig(log *slog.Logger) metrics.Config {
	v := buildVersion()
	return metrics.Config{Version: v.Version, Revision: v.Commit, Logger: log}
}

// listenMetrics listens where --metrics says, behind a door; nil if it says nothing.
func listenMetrics(c *cli.Context) (ln net.Listener, door pages.Door, err error) {
	hosts, err := readHosts(c)
	if err != nil {
		return nil, door, err
	}
	addr := c.String("metrics")
	if addr == "" {
		return nil, door, nil
	}
	if err := ports.CheckLoopback("metrics", addr, c.Bool("insecure"), "--insecure"); err != nil {
		return nil, door, usagef(c, "%w", err)
	}
	if ln, err = net.Listen("tcp", addr); err != nil {
		return nil, door, exit.With(exit.Start, fmt.Errorf("--metrics: %w", err))
	}
	return ln, pages.NewDoor(pages.Names(hosts, addr)...), nil
}
