package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/internal/terminal"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/runtime/manifest"
)

// localHost is the world of a guest that runs without a cluster.
type localHost struct {
	p           *program
	asJSON      bool
	file        string // for checkpoints; "": they are kept nowhere
	checkpoint  []byte // that the file held; nil: none
	cancelAfter time.Duration
	killAfter   time.Duration
	blobs       localBlobs
	signals     atomic.Int32
	report      runReport
}

var _ runtime.Host = (*localHost)(nil)

// runReport is what `taskrt run -o json` prints; names are those of the API where it has them.
type runReport struct {
	Behavior string `json:"behavior"`
	Version  string `json:"version"`
	Attempt  int64  `json:"attempt"`
	Outcome  string `json:"outcome"`         // succeeded, failed, cancelled, yielded or killed
	Cause    string `json:"cause,omitempty"` // of killed, and of a cancelled one that did not end by itself

	Result       json.RawMessage `json:"result,omitempty"`
	ResultBase64 []byte          `json:"result_base64,omitzero"`
	Error        *api.TaskError  `json:"error,omitempty"`
	AgainAt      *api.Time       `json:"again_at,omitempty"`

	Children []json.RawMessage `json:"children,omitempty"` // that a cluster would submit now

	FuelUsed    int64        `json:"fuel_used"`         // units
	PeakMemory  int64        `json:"peak_memory_bytes"` // of linear memory
	DurationMS  float64      `json:"duration_ms"`       // of the guest's execution
	Progress    *runProgress `json:"progress,omitempty"`
	Checkpoints int          `json:"checkpoints"` // how many were saved
	Log         []runLogLine `json:"log"`
}

type runProgress struct {
	Done  int64  `json:"done"`
	Total int64  `json:"total"`
	Note  string `json:"note,omitempty"`
}

type runLogLine struct {
	Level   string `json:"level"`
	Message string `json:"message"`
}

// localRun reads the flags that say what happens to the guest while it runs.
func (p *program) localRun(c *cli.Context) (*localHost, error) {
	h := &localHost{p: p, file: c.String("checkpoint"), report: runReport{Attempt: int64(c.Int("attempt")), Log: []runLogLine{}}}
	if h.report.Attempt < 1 {
		return nil, usagef(c, "--attempt must be at least 1, not %d", h.report.Attempt)
	}
	var err error
	if h.asJSON, err = wantsJSON(c); err != nil {
		return nil, err
	}
	for name, to := range map[string]*time.Duration{"cancel-after": &h.cancelAfter, "kill-after": &h.killAfter} {
		d, err := durationOf(c, name)
		if err != nil {
			return nil, err
		}
		if c.String(name) != "" && d <= 0 {
			return nil, usagef(c, "--%s must be more than 0", name)
		}
		*to = time.Duration(d)
	}
	if h.file == "" {
		return h, nil
	}
	switch h.checkpoint, err = os.ReadFile(h.file); {
	case errors.Is(err, fs.ErrNotExist):
		return h, nil
	case err != nil:
		return nil, usagef(c, "--checkpoint: %w", err)
	case len(h.checkpoint) > manifest.MaxPayloadBytes:
		return nil, usagef(c, "--checkpoint: %s has %d bytes, a checkpoint at most %d", h.file, len(h.checkpoint), manifest.MaxPayloadBytes)
	}
	return h, nil
}

// errKilledHere is what --kill-after ends a guest with.
var errKilledHere = errors.New("killed by --kill-after, as when its worker dies: another attempt would begin with the last checkpoint")

// attempt runs the guest. The first interrupt, as --cancel-after, tells it to stop; the grace's end kills it (SPEC L8).
func (h *localHost) attempt(ctx context.Context, m *runtime.Module, a runtime.Attempt, s *manifest.Settings) runtime.Outcome {
	asked, cancel := context.WithCancel(ctx)
	defer cancel()
	running, kill := context.WithCancelCause(context.WithoutCancel(ctx))
	defer kill(nil)
	if h.cancelAfter > 0 {
		defer time.AfterFunc(h.cancelAfter, cancel).Stop()
	}
	if h.killAfter > 0 {
		defer time.AfterFunc(h.killAfter, func() { kill(errKilledHere) }).Stop()
	}
	defer context.AfterFunc(asked, func() {
		h.signals.Or(int32(abi.SignalCancel))
		select {
		case <-running.Done():
		case <-time.After(s.CancelGrace):
			kill(runtime.ErrKilledCancel)
		}
	})()
	h.report.Behavior = s.Name
	return runtime.Judge(s, m.Run(running, a, h))
}

// Beat implements runtime.Host.
func (h *localHost) Beat(done, total int64, note []byte) abi.Signals {
	h.report.Progress = &runProgress{Done: done, Total: total, Note: string(note)}
	return h.Signals()
}

// Signals implements runtime.Host.
func (h *localHost) Signals() abi.Signals { return abi.Signals(h.signals.Load()) }

// Checkpoint replaces the file in one step: a crash leaves the former one.
func (h *localHost) Checkpoint(_ context.Context, data []byte) error {
	h.report.Checkpoints++
	if h.file == "" {
		return nil
	}
	if err := os.WriteFile(h.file+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(h.file+".new", h.file)
}

// Log implements runtime.Host.
func (h *localHost) Log(level int, msg []byte) {
	names := [...]string{"trace", "debug", "info", "warn", "error"}
	name := "log"
	if level >= 0 && level < len(names) {
		name = names[level]
	}
	if h.asJSON {
		h.report.Log = append(h.report.Log, runLogLine{name, string(bytes.ToValidUTF8(msg, []byte("\ufffd")))})
		return
	}
	_ = h.p.stderr.Printf("%s: %s\n", name, terminal.Lines(string(msg))) // the guest goes on without
}

// print prints an outcome. Anything but a success or a yield is exit code 1.
func (h *localHost) print(o runtime.Outcome) error {
	var code error
	switch o.Kind {
	case runtime.Failed:
		retry := "will not be retried"
		if o.Retryable {
			retry = "may be retried"
		}
		code = &exitError{exitTaskFailed, fmt.Errorf("%s: %s (%s)", o.Code, o.Message, retry)}
	case runtime.Killed:
		code = &exitError{exitTaskFailed, o.Cause}
	case runtime.Cancelled:
		code = &exitError{code: exitTaskFailed}
	}
	show := h.printText
	if h.asJSON {
		show = h.printJSON
	}
	return errors.Join(show(o), code)
}

func (h *localHost) printText(o runtime.Outcome) error {
	var told error // the first that went wrong
	tell := func(format string, args ...any) { told = cmp.Or(told, h.p.stderr.Printf(format, args...)) }
	if p := h.report.Progress; p != nil {
		tell("progress %d of %d %s\n", p.Done, p.Total, p.Note)
	}
	if h.report.Checkpoints > 0 && h.file != "" {
		tell("checkpoint saved %d times; the last one is in %s\n", h.report.Checkpoints, h.file)
	}
	if len(o.Stderr) > 0 && o.Class == runtime.ClassTrap {
		tell("%s\n", terminal.Lines(string(bytes.TrimSpace(o.Stderr))))
	}
	if trace := traceOf(o); trace != "" {
		tell("%s\n", terminal.Lines(trace))
	}
	kind := o.Kind.String()
	if o.Kind == runtime.Cancelled && o.Message != "" {
		kind += " (" + o.Message + ")"
	}
	if at := api.TimeOrNil(o.NextTime); at != nil {
		kind += ", runs again at " + at.String() + ","
	}
	tell("%s after %v, peak memory %d KiB, fuel %d\n", kind, executed(o).Round(time.Millisecond), o.PeakMemory>>10, o.Fuel)
	if o.Kind != runtime.Succeeded {
		return told
	}
	for _, doc := range o.Children {
		tell("would submit %s\n", doc)
	}
	if json.Valid(o.Result) {
		o.Result = append(bytes.TrimSpace(o.Result), '\n')
	} // else bytes as they are
	return cmp.Or(told, h.p.stdout.Content(bytes.NewReader(o.Result)))
}

// traceOf is where a guest trapped, the innermost function first.
func traceOf(o runtime.Outcome) string {
	var details struct {
		Trace string `json:"trace"`
	}
	if o.Class != runtime.ClassTrap || json.Unmarshal(o.Details, &details) != nil {
		return ""
	}
	return details.Trace
}

func (h *localHost) printJSON(o runtime.Outcome) error {
	r := &h.report
	r.Outcome, r.AgainAt = o.Kind.String(), api.TimeOrNil(o.NextTime)
	r.FuelUsed, r.PeakMemory, r.DurationMS = o.Fuel, o.PeakMemory, float64(executed(o).Microseconds())/1000
	switch o.Kind {
	case runtime.Succeeded:
		for _, doc := range o.Children {
			r.Children = append(r.Children, doc)
		}
		if json.Valid(o.Result) {
			r.Result = o.Result
		} else {
			r.ResultBase64 = o.Result
		}
	case runtime.Failed:
		r.Error = &api.TaskError{Code: o.Code, Message: o.Message, Retryable: o.Retryable, Details: o.Details}
	case runtime.Killed:
		r.Cause = o.Cause.Error()
	case runtime.Cancelled:
		r.Cause = o.Message
	}
	return h.p.encodeJSON(r, "")
}

// executed is how long the guest's code ran.
func executed(o runtime.Outcome) time.Duration { return time.Duration(o.Ended - o.Started) }
