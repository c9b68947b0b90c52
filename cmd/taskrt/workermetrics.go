package main

import (
	"fmt"
	"log/slog"
	"net"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/metrics"
)

// metricsConfig says which build it is that measures.
func metricsConfig(log *slog.Logger) metrics.Config {
	v := buildVersion()
	return metrics.Config{Version: v.Version, Revision: v.Commit, Logger: log}
}

// listenMetrics listens where --metrics says; nil if it says nothing.
func listenMetrics(c *cli.Context) (net.Listener, error) {
	addr := c.String("metrics")
	if addr == "" {
		return nil, nil //nolint:nilnil // no listener is an answer
	}
	if err := checkLoopback("metrics", addr, c.Bool("insecure")); err != nil {
		return nil, usagef(c, "%w", err)
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, &exitError{exitStart, fmt.Errorf("--metrics: %w", err)}
	}
	return ln, nil
}
