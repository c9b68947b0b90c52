package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api/server"
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

// runBeside runs a worker, and serves its metrics until it has ended. ln may be nil. An error is why the worker had to stop.
func runBeside(ctx context.Context, ln net.Listener, m http.Handler, log *slog.Logger, run func(context.Context) error) error {
	if ln == nil {
		return stopped(run(ctx))
	}
	routes := http.NewServeMux()
	routes.Handle("GET /metrics", m)
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	served := make(chan error, 1)
	go func() { served <- server.Serve(serving, ln, routes, log) }()
	err := run(ctx)
	stop()
	return stopped(errors.Join(err, <-served))
}

// stopped gives what ended a worker its exit code.
func stopped(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{exitStopped, err}
}
