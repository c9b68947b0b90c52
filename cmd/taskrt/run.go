package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/children"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/exit"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/input"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/local"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/runtime/manifest"
	"github.com/taskrt/taskrt/runtime/upload"
)

func (p *program) runCommand() *cli.Command {
	const cmd = "run"
	return &cli.Command{
		Name: cmd, Usage: "run one attempt of a module here, without a cluster, under the same limits", ArgsUsage: "FILE.wasm", Category: "behaviors",
		Flags: []cli.Flag{
			paramsFlag(cmd), paramsBytesFlag(cmd),
			stringFlag(cmd, "behavior", "", "which one, if the module has several"),
			stringFlag(cmd, "name", "", "name of the behavior, for a module without a manifest"),
			stringFlag(cmd, "manifest", "", "manifest FILE.json; wins over the module's own"),
			intFlag(cmd, "attempt", 1, "number of the attempt that the guest is told"),
			stringFlag(cmd, "checkpoint", "", "FILE to go on from, if it is there, and to save checkpoints to"),
			durationFlag(cmd, "cancel-after", "", "cancel it then, as taskrt cancel does: a signal, and the end after the grace"),
			durationFlag(cmd, "kill-after", "", "kill it then, as when its worker dies: only checkpoints are left"),
			listFlag(cmd, "blob", "FILE that the guest may read by its digest, which params name; may be given several times"),
			capabilitiesFlag(cmd),
			jsonFlag(),
		},
		Action: p.runModule,
	}
}

// runModule prints the result on standard output, and the log and the outcome on standard error. With -o json it
// prints all of it as one object on standard output.
func (p *program) runModule(c *cli.Context) error {
	log, err := p.logger(c)
	if err != nil {
		return err
	}
	h, checkpoint, err := p.localRun(c)
	if err != nil {
		return err
	}
	text, raw, err := input.Params(c, p.stdin)
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
	granted, err := readGrants(c)
	if err != nil {
		return err
	}
	engine, err := runtime.New(runtime.Config{Logger: log, Grants: granted, CheckChild: children.Check})
	if err != nil {
		return err
	}
	in, err := unlessInterrupted(c.Context, func(ctx context.Context) (*runtime.Inspected, error) {
		return inspect(ctx, engine, wasm, given, c.String("name"), c.String("behavior"))
	})
	if errors.Is(err, errAbandoned) {
		return err // without closing the engine, which would wait for what it compiles
	}
	defer engine.Close(context.WithoutCancel(c.Context))
	if err != nil {
		return err
	}
	if err := engine.CheckGranted("default", &in.Manifest); err != nil {
		return refused(err)
	}
	settings, err := pick(c, in.Manifest)
	if err != nil {
		return err
	}
	h.Blobs = local.Blobs{}
	defer h.Blobs.Close()
	a, err := p.attemptOf(c, h, &settings, in.Version, text, raw)
	if err != nil {
		return err
	}
	a.Checkpoint = checkpoint
	m, err := engine.Load(c.Context, in.Digest, wasm)
	if err != nil {
		return refused(err)
	}
	h.Report.Version = in.Version
	return p.printRun(h, h.Attempt(c.Context, m, a, &settings))
}

// attemptOf makes the attempt. Its params are text, which is JSON, or raw, which may be any bytes. attemptOf opens
// the files of --blob.
func (p *program) attemptOf(
	c *cli.Context, h *local.Host, s *manifest.Settings, version string, text json.RawMessage, raw []byte,
) (runtime.Attempt, error) {
	if err := p.addBlobs(c, h.Blobs); err != nil {
		return runtime.Attempt{}, err
	}
	params, from, err := h.Blobs.Whole(text)
	if err != nil {
		return runtime.Attempt{}, refused(err)
	}
	if raw != nil {
		params = raw
	}
	if err := s.CheckParams(params); err != nil {
		return runtime.Attempt{}, exit.With(exit.Refused, err)
	}
	number := int64(c.Int("attempt"))
	a, err := runtime.LocalAttempt(s, params, abi.TaskInfo{Version: version, Attempt: number, Failures: number - 1, Priority: 4})
	a.ParamsFrom = from
	return a, err
}

// printRun prints an outcome. The exit code is 1 for all outcomes but a success and a yield.
func (p *program) printRun(h *local.Host, o runtime.Outcome) error {
	var code error
	switch o.Kind {
	case runtime.Failed:
		retry := "will not be retried"
		if o.Retryable {
			retry = "may be retried"
		}
		code = exit.With(exit.TaskFailed, fmt.Errorf("%s: %s (%s)", o.Code, o.Message, retry))
	case runtime.Killed:
		code = exit.With(exit.TaskFailed, o.Cause)
	case runtime.Cancelled:
		code = exit.With(exit.TaskFailed, nil)
	}
	if h.Stderr == nil {
		return errors.Join(p.encodeJSON(h.Finish(o), ""), code)
	}
	return errors.Join(h.Print(o, p.stdout), code)
}

// localRun reads the flags that say what happens to the guest while it runs. checkpoint is the content of the file of
// --checkpoint; nil: there is no file.
func (p *program) localRun(c *cli.Context) (h *local.Host, checkpoint []byte, err error) {
	h = &local.Host{File: c.String("checkpoint"), Stderr: p.stderr, Report: local.Report{Attempt: int64(c.Int("attempt")), Log: []local.LogLine{}}}
	if h.Report.Attempt < 1 {
		return nil, nil, usagef(c, "--attempt must be at least 1, not %d", h.Report.Attempt)
	}
	asJSON, err := wantsJSON(c)
	if err != nil {
		return nil, nil, err
	}
	if asJSON {
		h.Stderr = nil
	}
	for name, to := range map[string]*time.Duration{"cancel-after": &h.CancelAfter, "kill-after": &h.KillAfter} {
		d, err := durationOf(c, name)
		if err != nil {
			return nil, nil, err
		}
		if c.String(name) != "" && d <= 0 {
			return nil, nil, usagef(c, "--%s must be more than 0", name)
		}
		*to = time.Duration(d)
	}
	if h.File == "" {
		return h, nil, nil
	}
	switch checkpoint, err = os.ReadFile(h.File); {
	case errors.Is(err, fs.ErrNotExist):
		return h, nil, nil
	case err != nil:
		return nil, nil, usagef(c, "--checkpoint: %w", err)
	case len(checkpoint) > manifest.MaxPayloadBytes:
		return nil, nil, usagef(c, "--checkpoint: %s has %d bytes, a checkpoint at most %d", h.File, len(checkpoint), manifest.MaxPayloadBytes)
	}
	return h, checkpoint, nil
}

// addBlobs opens the files of --blob and tells under which names the guest can read them.
func (p *program) addBlobs(c *cli.Context, blobs local.Blobs) error {
	for _, name := range c.StringSlice("blob") {
		digest, fresh, err := blobs.Add(name)
		if err != nil {
			return usagef(c, "--blob: %w", err)
		}
		if !fresh {
			continue
		}
		if err := p.stderr.Printf("blob %s %s\n", api.ShowDigest(digest), name); err != nil {
			return err
		}
	}
	return nil
}

// errAbandoned is the error of unlessInterrupted when ctx has ended.
var errAbandoned = fmt.Errorf("abandoned: %w", context.Canceled)

// unlessInterrupted waits for do until ctx ends. Compiling looks at no context, and a large module takes seconds. So a command that is interrupted
// does not wait for it. The process then ends, and do with it.
func unlessInterrupted[T any](ctx context.Context, do func(context.Context) (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		v, err := do(ctx)
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var zero T
		return zero, errAbandoned
	}
}

// inspect finds the module's manifest. Only a module without a manifest needs a name, so inspect tries without a name
// first.
func inspect(ctx context.Context, e *runtime.Engine, wasm []byte, given *manifest.Manifest, name, fallback string) (*runtime.Inspected, error) {
	in, err := e.Inspect(ctx, wasm, given, name)
	if bad, ok := errors.AsType[*upload.Error](err); ok && name == "" && bad.Code == upload.BadManifest {
		// With a name, the error says what is wrong with the module.
		in, err = e.Inspect(ctx, wasm, given, cmp.Or(fallback, "local"))
	}
	return in, refused(err)
}

// refused gives errors about a module or its params the exit code that they have when a server reports them.
func refused(err error) error {
	_, module := errors.AsType[*upload.Error](err)
	_, params := errors.AsType[*local.RefusedError](err)
	if module || params {
		return exit.With(exit.Refused, err)
	}
	return err
}

func readManifest(c *cli.Context) (*manifest.Manifest, error) {
	file := c.String("manifest")
	if file == "" {
		return nil, nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, usagef(c, "--manifest: %w", err)
	}
	m, err := manifest.Parse(b)
	return m, refused(err)
}

// pick finds the behavior to run.
func pick(c *cli.Context, m manifest.Manifest) (manifest.Settings, error) {
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
	return manifest.Settings{}, usagef(c, "--behavior must be one of:%s", names)
}
