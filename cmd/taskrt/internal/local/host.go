// Package local runs one attempt of a module without a cluster, under the same limits: the guest's world, and what
// comes of it.
package local

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync/atomic"
	"time"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/internal/terminal"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/runtime/manifest"
)

// Host is the world of a guest that runs without a cluster.
type Host struct {
	File        string        // for checkpoints; "": they are kept nowhere
	CancelAfter time.Duration // 0: never
	KillAfter   time.Duration // 0: never
	Blobs       Blobs
	Stderr      *terminal.Output // nil: what the guest logs goes into the report
	Report      Report

	signals atomic.Int32
}

var _ runtime.Host = (*Host)(nil)

// Report is what `taskrt run -o json` prints; names are those of the API where it has them.
type Report struct {
	Behavior string `json:"behavior"`
	Version  string `json:"version"`
	Attempt  int64  `json:"attempt"`
	Outcome  string `json:"outcome"`         // succeeded, failed, cancelled, yielded or killed
	Cause    string `json:"cause,omitempty"` // of killed, and of cancelled if the guest did not end by itself

	Result       json.RawMessage `json:"result,omitempty"`
	ResultBase64 []byte          `json:"result_base64,omitzero"`
	Error        *api.TaskError  `json:"error,omitempty"`
	AgainAt      *api.Time       `json:"again_at,omitempty"`

	Children []json.RawMessage `json:"children,omitempty"` // that a cluster would submit now

	FuelUsed    int64     `json:"fuel_used"`         // units
	PeakMemory  int64     `json:"peak_memory_bytes"` // of linear memory
	DurationMS  float64   `json:"duration_ms"`       // of the guest's execution
	Progress    *progress `json:"progress,omitempty"`
	Checkpoints int       `json:"checkpoints"` // how many were saved
	Log         []LogLine `json:"log"`
}

// progress is what the guest said last about how far it is.
type progress struct {
	Done  int64  `json:"done"`
	Total int64  `json:"total"`
	Note  string `json:"note,omitempty"`
}

// LogLine is one message of a guest.
type LogLine struct {
	Level   string `json:"level"`
	Message string `json:"message"`
}

// errKilledHere is what --kill-after ends a guest with.
var errKilledHere = errors.New("killed by --kill-after, as when its worker dies: another attempt would begin with the last checkpoint")

// Attempt runs the guest. The first interrupt tells it to stop, as --cancel-after does; at the end of the grace it is
// killed (SPEC L8).
func (h *Host) Attempt(ctx context.Context, m *runtime.Module, a runtime.Attempt, s *manifest.Settings) runtime.Outcome {
	asked, cancel := context.WithCancel(ctx)
	defer cancel()
	running, kill := context.WithCancelCause(context.WithoutCancel(ctx))
	defer kill(nil)
	if h.CancelAfter > 0 {
		defer time.AfterFunc(h.CancelAfter, cancel).Stop()
	}
	if h.KillAfter > 0 {
		defer time.AfterFunc(h.KillAfter, func() { kill(errKilledHere) }).Stop()
	}
	defer context.AfterFunc(asked, func() {
		h.signals.Or(int32(abi.SignalCancel))
		select {
		case <-running.Done():
		case <-time.After(s.CancelGrace):
			kill(runtime.ErrKilledCancel)
		}
	})()
	h.Report.Behavior = s.Name
	return runtime.Judge(s, m.Run(running, a, h))
}

// Beat implements runtime.Host.
func (h *Host) Beat(done, total int64, note []byte) abi.Signals {
	h.Report.Progress = &progress{Done: done, Total: total, Note: string(note)}
	return h.Signals()
}

// Signals implements runtime.Host.
func (h *Host) Signals() abi.Signals { return abi.Signals(h.signals.Load()) }

// Checkpoint replaces the file in one step: a crash leaves the former one.
func (h *Host) Checkpoint(_ context.Context, data []byte) error {
	h.Report.Checkpoints++
	if h.File == "" {
		return nil
	}
	if err := os.WriteFile(h.File+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(h.File+".new", h.File)
}

// Log implements runtime.Host.
func (h *Host) Log(level int, msg []byte) {
	names := [...]string{"trace", "debug", "info", "warn", "error"}
	name := "log"
	if level >= 0 && level < len(names) {
		name = names[level]
	}
	if h.Stderr == nil {
		h.Report.Log = append(h.Report.Log, LogLine{name, string(bytes.ToValidUTF8(msg, []byte("\ufffd")))})
		return
	}
	_ = h.Stderr.Printf("%s: %s\n", name, terminal.Lines(string(msg))) // the guest goes on without
}

// Print tells people of an outcome: the result of a success on stdout, everything else on h.Stderr.
func (h *Host) Print(o runtime.Outcome, stdout *terminal.Output) error {
	var told error // the first that went wrong
	tell := func(format string, args ...any) { told = cmp.Or(told, h.Stderr.Printf(format, args...)) }
	if p := h.Report.Progress; p != nil {
		tell("progress %d of %d %s\n", p.Done, p.Total, p.Note)
	}
	if h.Report.Checkpoints > 0 && h.File != "" {
		tell("checkpoint saved %d times; the last one is in %s\n", h.Report.Checkpoints, h.File)
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
	} // else the bytes are written as they are
	return cmp.Or(told, stdout.Content(bytes.NewReader(o.Result)))
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

// Finish completes the report with an outcome.
func (h *Host) Finish(o runtime.Outcome) *Report {
	r := &h.Report
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
	return r
}

// executed is how long the guest's code ran.
func executed(o runtime.Outcome) time.Duration { return time.Duration(o.Ended - o.Started) }
