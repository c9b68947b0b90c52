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

// readMetrics reads where --metrics says that a worker listens, and the door of that port.
func readMetrics(c *cli.Context) (addr string, door pages.Door, err error) {
	hosts, err := readHosts(c)
	if addr = c.String("metrics"); err != nil || addr == "" {
		return "", door, err
	}
	if err := ports.CheckLoopback("metrics", addr, c.Bool("insecure"), "--insecure"); err != nil {
		return "", door, usagef(c, "%w", err)
	}
	return addr, pages.NewDoor(pages.Names(hosts, addr)...), nil
}

// listenMetrics listens there; nil if it is nowhere.
func listenMetrics(addr string) (net.Listener, error) {
	if addr == "" {
		return nil, nil //nolint:nilnil // no listener is an answer
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, exit.With(exit.Start, fmt.Errorf("--metrics: %w", err))
	}
	return ln, nil
}
