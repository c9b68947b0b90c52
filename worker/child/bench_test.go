package child

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker"
	"github.com/taskrt/taskrt/worker/stream"
)

// overTCP is a leader over TCP, as in production.
type overTCP struct {
	*leader
	ln net.Listener
}

// Dial implements worker.Dialer.
func (o overTCP) Dial(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", o.ln.Addr().String())
}

func listenTCP(b *testing.B) overTCP {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { ln.Close() })
	o := overTCP{newLeader(b, time.Minute), ln}
	go func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			conn, err := stream.New(nc, stream.Options{})
			if err != nil {
				return
			}
			go o.serve(conn)
		}
	}()
	return o
}

// BenchmarkAssignment measures the way from an assignment to its report, for an attempt that does nothing. The worker
// is in this process or in a child.
func BenchmarkAssignment(b *testing.B) {
	for _, where := range []string{"inline", "process"} {
		b.Run(where, func(b *testing.B) {
			l := listenTCP(b)
			cfg := worker.Config{
				ID: "n1", Dir: filepath.Join(b.TempDir(), "worker"), Slots: 4, Dial: l, Modules: l, Blobs: l, Logger: slog.New(slog.DiscardHandler),
			}
			var run func(context.Context) error
			if where == "inline" {
				cfg.Runner = testRunner{Means{Compile: l.compile, OnCompile: func(runtime.Compiled) {}}}
				w, err := worker.New(cfg)
				if err != nil {
					b.Fatal(err)
				}
				run = w.Run
			} else {
				p, err := New(Config{Worker: cfg, Args: []string{"guests"}, Compile: l.compile})
				if err != nil {
					b.Fatal(err)
				}
				run = p.Run
			}
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan error, 1)
			go func() { done <- run(ctx) }()
			defer func() { cancel(); <-done }()
			l.until("a session", func() bool { return l.opened > 0 })
			reported := 0
			one := func() {
				l.assign("done", task.Payload{}, uint64(reported+1))
				reported++
				l.until("a report", func() bool { return len(l.reports) == reported })
			}
			for range 100 {
				one()
			}
			for b.Loop() {
				one()
			}
		})
	}
}
