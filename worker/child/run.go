package child

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"

	"github.com/taskrt/taskrt/internal/subproc"
	"github.com/taskrt/taskrt/internal/wall"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/worker"
	"github.com/taskrt/taskrt/worker/stream"
)

// Parts is what a program puts into its child: what executes modules, and what differs from program to program.
type Parts struct {
	Runner worker.Runner
	Stats  func() runtime.Stats
	OnRun  func(worker.Run) // may be nil
	Logger *slog.Logger
	Close  func(context.Context) error
	// Wall is raised before the child gets anything to execute; nil: there is none, for tests.
	Wall *wall.Plan
}

// Means is what a program makes the Parts of.
type Means struct {
	Settings  json.RawMessage // Config.Settings
	Files     []*os.File      // Config.Files
	Compile   func(ctx context.Context, digest string, size int64) error
	OnCompile func(runtime.Compiled)
}

// Exit codes of a child. worker.ExitOverrun is another one.
const (
	exitDone   = 0
	exitFailed = 1
	exitOrphan = 3 // the parent is gone
)

// Run is the whole child; it returns the exit code. args are what the parent adds to Config.Args.
func Run(args []string, build func(Means) (Parts, error)) int {
	files := 0
	if len(args) == 1 {
		files, _ = strconv.Atoi(args[0]) // a child that is called by hand finds no socket either
	}
	begun, err := subproc.Begin(1+files, maxMessage)
	if err != nil {
		fmt.Fprintln(os.Stderr, "taskrt:", err)
		return exitFailed
	}
	conn := begun.Conn
	ctx, finish := context.WithCancel(context.Background())
	defer finish()
	c := &child{home: &home{conn: conn}, events: newEvents(conn), finish: finish}
	if err := c.run(ctx, begun, build); err != nil {
		if sent := conn.Send(msgFailed, []byte(err.Error())); sent != nil {
			return exitOrphan
		}
		return exitFailed
	}
	return exitDone
}

type child struct {
	*home
	events *events
	worker *worker.Worker
	parts  Parts
	finish context.CancelFunc // lets the worker end; its caller may hold the worker's locks
}

func (c *child) run(ctx context.Context, begun *subproc.Child, build func(Means) (Parts, error)) error {
	s, err := decode[spec](begun.First)
	if err != nil {
		return err
	}
	cells, err := subproc.MapCells(begun.Files[0])
	if err != nil {
		return err
	}
	c.parts, err = build(Means{Settings: s.Settings, Files: begun.Files[1:], Compile: c.compile, OnCompile: c.events.compiled})
	if err != nil {
		return err
	}
	executing := newTable(cells)
	var state wall.State
	c.worker, err = worker.New(worker.Config{
		ID: s.ID, Node: s.Node, Dir: s.Dir, Slots: s.Slots, DrainTime: s.DrainTime, CloseTime: s.CloseTime, PrepareWorkers: s.PrepareWorkers,
		Dial: c.home, Modules: c.home, Blobs: c.home, Runner: c.parts.Runner, Logger: c.parts.Logger,
		OnRun: func(r worker.Run) {
			executing.note(r)
			if c.parts.OnRun != nil {
				c.parts.OnRun(r)
			}
		},
		OnEnd: func(e worker.Ended) {
			c.events.ended(e)
			if s.Alone { // that was the one attempt
				c.finish()
			}
		},
		Outside: c.home, Wall: func() stream.Wall { return stream.Wall(state) },
		OnSession: c.events.held, OnSuspects: c.events.suspects, Alone: s.Alone, Isolates: s.Isolates, Traces: s.Traces,
	})
	if err != nil {
		return err
	}
	if c.parts.Wall != nil {
		if state, err = wall.Raise(*c.parts.Wall); err != nil {
			return err
		}
	}
	if s.Cgroup != nil {
		state.NoteCgroup(s.Cgroup.Lacks, s.Cgroup.Kills)
	}
	proof, before := c.worker.Proof()
	if err := send(c.conn, msgUp, up{proof, before, state}); err != nil {
		return err
	}
	for { // the parent looks at the wall first
		m, err := c.conn.Recv(maxMessage)
		if err != nil {
			return err
		}
		m.CloseFiles()
		if m.Kind == msgBegin {
			return c.work(ctx)
		}
		c.heard(m)
	}
}

// work runs the worker until the parent wants it to end.
func (c *child) work(ctx context.Context) error {
	go c.listen()
	go c.events.run()
	err := c.worker.Run(ctx)
	c.events.flush()
	if err != nil {
		return err
	}
	return c.parts.Close(context.Background())
}

// listen does what the parent says. Without a parent nothing may execute: the session cannot be renewed, and another
// process may soon prove that this one is dead.
func (c *child) listen() {
	for {
		m, err := c.conn.Recv(maxMessage)
		if err != nil {
			if !errors.Is(err, io.EOF) {
				c.parts.Logger.Error("the socket to the server is broken", "err", err)
			}
			os.Exit(exitOrphan)
		}
		m.CloseFiles()
		c.heard(m)
	}
}

// heard does what one message of the parent says.
func (c *child) heard(m subproc.Message) {
	switch m.Kind {
	case msgDrain:
		c.finish()
	case msgAsk:
		c.events.ask(report{c.worker.Status(), c.parts.Stats()})
	}
}
