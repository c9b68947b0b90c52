package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/runtime"
)

func (p *program) runCommand() *cli.Command {
	const cmd = "run"
	return &cli.Command{
		Name: cmd, Usage: "run one attempt of a module here, without a cluster, under the same limits", ArgsUsage: "FILE.wasm", Category: "behaviors",
		Flags: []cli.Flag{
			stringFlag(cmd, "params", "", "JSON, or @FILE, or - for standard input"),
			stringFlag(cmd, "behavior", "", "which one, if the module has several"),
			stringFlag(cmd, "name", "", "name of the behavior, for a module without a manifest"),
			stringFlag(cmd, "manifest", "", "manifest FILE.json; wins over the module's own"),
			intFlag(cmd, "attempt", 1, "number of the attempt that the guest is told"),
			stringFlag(cmd, "checkpoint", "", "FILE to go on from, if it is there, and to save checkpoints to"),
			listFlag(cmd, "blob", "FILE that the guest may read by its digest, which params name; may be given several times"),
		},
		Action: p.runModule,
	}
}

// runModule prints the result on standard output, and the log and the outcome on standard error.
func (p *program) runModule(c *cli.Context) error {
	log, err := p.logger(c)
	if err != nil {
		return err
	}
	params, err := readParams(c, p.stdin)
	if err != nil {
		return err
	}
	wasm, err := os.ReadFile(c.Args().First())
	if err != nil {
		return usagef(c, "%w", err)
	}
	given, err := readManifest(c)
	if err != nil {
		return err
	}
	engine, err := runtime.New(runtime.Config{Logger: log})
	if err != nil {
		return err
	}
	defer engine.Close(context.WithoutCancel(c.Context))
	in, err := inspect(c.Context, engine, wasm, given, c.String("name"), c.String("behavior"))
	if err != nil {
		return err
	}
	settings, err := pick(c, in.Manifest)
	if err != nil {
		return err
	}
	blobs, err := p.openBlobs(c)
	if err != nil {
		return err
	}
	defer blobs.close()
	params, from, err := blobs.whole(params)
	if err != nil {
		return err
	}
	if err := checkParams(settings, params); err != nil {
		return err
	}
	m, err := engine.Load(c.Context, in.Digest, wasm)
	if err != nil {
		return refused(err)
	}
	a := runtime.Attempt{Params: params, ParamsFrom: from}
	return p.attempt(c, m, in, settings, a, &localHost{p: p, file: c.String("checkpoint"), blobs: blobs})
}

// inspect finds the module's manifest. Only a module without one needs a name, so it is tried without first.
func inspect(ctx context.Context, e *runtime.Engine, wasm []byte, given *runtime.Manifest, name, fallback string) (*runtime.Inspected, error) {
	in, err := e.Inspect(ctx, wasm, given, name)
	if bad, ok := errors.AsType[*runtime.UploadError](err); ok && name == "" && bad.Code == runtime.BadManifest {
		if fallback == "" {
			fallback = "local"
		}
		if again, err2 := e.Inspect(ctx, wasm, given, fallback); err2 == nil {
			return again, nil
		}
	}
	return in, refused(err)
}

// refused gives errors about a module the exit code that they have when a server finds them.
func refused(err error) error {
	if _, ok := errors.AsType[*runtime.UploadError](err); ok {
		return &exitError{exitRefused, err}
	}
	return err
}

func readManifest(c *cli.Context) (*runtime.Manifest, error) {
	file := c.String("manifest")
	if file == "" {
		return nil, nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, usagef(c, "--manifest: %w", err)
	}
	m, err := runtime.ParseManifest(b)
	return m, refused(err)
}

// pick finds the behavior to run.
func pick(c *cli.Context, m runtime.Manifest) (runtime.Settings, error) {
	want := c.String("behavior")
	if want == "" && len(m.Behaviors) == 1 {
		return m.Settings(0), nil
	}
	names := ""
	for i := range m.Behaviors {
		if m.Behaviors[i].Name == want {
			return m.Settings(i), nil
		}
		names += " " + m.Behaviors[i].Name
	}
	return runtime.Settings{}, usagef(c, "--behavior must be one of:%s", names)
}

// checkParams does what a submit does before it accepts a task.
func checkParams(s runtime.Settings, params json.RawMessage) error {
	if n := int64(len(params)); n > s.ParamsBytes {
		return &exitError{exitRefused, fmt.Errorf("params have %d bytes, behavior %s takes at most %d", n, s.Name, s.ParamsBytes)}
	}
	if params == nil {
		params = json.RawMessage("null")
	}
	var schemas runtime.Schemas
	if err := schemas.Check(s.ParamsSchema, params); err != nil {
		return &exitError{exitRefused, fmt.Errorf("params: %w", err)}
	}
	return nil
}

// attempt runs the guest. The first interrupt tells it to stop, the grace's end kills it (SPEC L8).
func (p *program) attempt(c *cli.Context, m *runtime.Module, in *runtime.Inspected, s runtime.Settings, a runtime.Attempt, host *localHost) error {
	info, err := json.Marshal(abi.TaskInfo{
		Namespace: api.DefaultNamespace, ID: "local", Behavior: s.Name, Version: in.Version,
		Attempt: int64(c.Int("attempt")), MaxAttempts: s.MaxAttempts, Failures: int64(c.Int("attempt")) - 1, Token: 1, Priority: 4,
	})
	if err != nil {
		return err
	}
	a.Behavior, a.Info = s.Index, info
	a.Fuel = s.Fuel
	a.MemoryBytes, a.ResultBytes, a.CheckpointBytes, a.LogBytes = s.MemoryBytes, s.ResultBytes, s.CheckpointBytes, s.LogBytes
	a.RunTimeout, a.HeartbeatTimeout, a.ResultRequired = s.RunTimeout, s.HeartbeatTimeout, s.ResultRequired
	if host.file != "" {
		a.Checkpoint, err = os.ReadFile(host.file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return usagef(c, "--checkpoint: %w", err)
		}
	}
	ctx, kill := context.WithCancelCause(context.WithoutCancel(c.Context))
	defer kill(nil)
	stop := context.AfterFunc(c.Context, func() {
		host.signals.Or(int32(abi.SignalCancel))
		select {
		case <-ctx.Done():
		case <-time.After(s.CancelGrace):
			kill(runtime.ErrKilledCancel)
		}
	})
	defer stop()
	return p.printRun(m.Run(ctx, a, host), s.ResultSchema)
}

// printRun prints an outcome; anything but a success with a result that matches its schema is exit code 1, a yield
// excepted.
func (p *program) printRun(o runtime.Outcome, schema []byte) error {
	took := time.Duration(o.Ended - o.Started).Round(time.Millisecond)
	fmt.Fprintf(p.stderr, "%s after %v, peak memory %d KiB, fuel %d\n", o.Kind, took, o.PeakMemory>>10, o.Fuel)
	switch o.Kind {
	case runtime.Succeeded:
		if !o.HasResult {
			o.Result = []byte("null")
		}
		if _, err := fmt.Fprintf(p.stdout, "%s\n", o.Result); err != nil {
			return err
		}
		if err := new(runtime.Schemas).Check(schema, o.Result); err != nil {
			return &exitError{exitTaskFailed, fmt.Errorf("the result does not match the behavior's result_schema: %w", err)}
		}
		return nil
	case runtime.Yielded:
		return nil
	case runtime.Killed:
		return &exitError{exitTaskFailed, o.Cause}
	case runtime.Cancelled:
		return &exitError{code: exitTaskFailed}
	}
	retry := "will not be retried"
	if o.Class != runtime.ClassGuest {
		retry = "the behavior's policy decides about a retry"
	} else if o.Retryable {
		retry = "may be retried"
	}
	if len(o.Stderr) > 0 && o.Class == runtime.ClassTrap {
		fmt.Fprintf(p.stderr, "%s\n", bytes.TrimSpace(o.Stderr))
	}
	return &exitError{exitTaskFailed, fmt.Errorf("%s: %s (%s)", o.Code, o.Message, retry)}
}

// localHost is the world of a guest that runs without a cluster.
type localHost struct {
	p       *program
	file    string // for checkpoints; "": they are kept nowhere
	blobs   localBlobs
	signals atomic.Int32
}

func (h *localHost) Beat(int64, int64, []byte) abi.Signals { return h.Signals() }

func (h *localHost) Signals() abi.Signals { return abi.Signals(h.signals.Load()) }

// Checkpoint replaces the file in one step: a crash leaves the former one.
func (h *localHost) Checkpoint(_ context.Context, data []byte) error {
	if h.file == "" {
		return nil
	}
	if err := os.WriteFile(h.file+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(h.file+".new", h.file)
}

func (h *localHost) Log(level int, msg []byte) {
	names := [...]string{"trace", "debug", "info", "warn", "error"}
	name := "log"
	if level >= 0 && level < len(names) {
		name = names[level]
	}
	_, _ = io.WriteString(h.p.stderr, name+": "+endLine(string(msg)))
}
