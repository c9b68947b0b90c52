package clustertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/worker"
)

// GoGuest stands in for the modules of separate workers (Options.Guest): a test that wants something to happen at a chosen
// moment says so more easily in Go than in wasm. An error is a failure for good, unless the job was stopped.
type GoGuest func(ctx context.Context, j *Job) (result string, err error)

// Job is one attempt as a GoGuest sees it.
type Job struct {
	Info       abi.TaskInfo
	Raw        []byte    // params
	Params     JobParams // of an operation's task
	Checkpoint []byte    // nil: none
	Host       runtime.Host
	Where      string   // the worker
	MaxFuel    int64    // of the behavior; 0: none
	Fuel       int64    // what it says it used
	Memory     int64    // the most bytes that it says it had
	Children   []string // JSON of the children that it submits with its success
}

// JobParams are the params of an operation's task, whatever its role is.
type JobParams struct {
	Operation, Partition, Target, Object string
	Arg                                  json.RawMessage
	Success                              bool
	Counts                               map[string]int64
	Token                                uint64
}

// goModule runs a GoGuest as worker.Runner and worker.Guest.
type goModule struct {
	c     *Cluster
	where string
	run   GoGuest
}

var (
	_ worker.Runner = (*goModule)(nil)
	_ worker.Guest  = (*goModule)(nil)
)

// Module implements worker.Runner.
func (m *goModule) Module(string) (worker.Guest, bool) { return m, true }

// Load implements worker.Runner.
func (m *goModule) Load(context.Context, string, []byte) (worker.Guest, error) { return m, nil }

// errCancelled is returned by a job that was told to cancel, errOutOfFuel by a job that used more fuel than it may.
var (
	errCancelled = errors.New("clustertest: cancelled")
	errOutOfFuel = errors.New("clustertest: out of fuel")
)

// snoozed is returned by a job that wants to run again at a time, in Unix milliseconds.
type snoozed int64

func (s snoozed) Error() string { return fmt.Sprintf("clustertest: again at %d", int64(s)) }

// Run implements worker.Guest.
func (m *goModule) Run(ctx context.Context, a runtime.Attempt, host runtime.Host) runtime.Outcome {
	j := &Job{Raw: content(a.Params, a.ParamsFrom), Checkpoint: content(a.Checkpoint, a.CheckpointFrom), Host: host, Where: m.where, MaxFuel: a.Fuel}
	out := runtime.Outcome{Started: int64(m.c.Boottime())}
	err := json.Unmarshal(a.InfoJSON(), &j.Info)
	if err == nil && j.Info.Parent != "" && len(j.Raw) > 0 {
		err = json.Unmarshal(j.Raw, &j.Params)
	}
	result := ""
	if err == nil {
		result, err = m.run(ctx, j)
	}
	out.Ended, out.Fuel, out.PeakMemory = int64(m.c.Boottime()), j.Fuel, j.Memory
	again, snoozes := errors.AsType[snoozed](err)
	switch {
	case snoozes:
		out.Kind, out.NextTime = runtime.Yielded, int64(again)
	case ctx.Err() != nil:
		out.Kind, out.Cause = runtime.Killed, context.Cause(ctx)
	case errors.Is(err, errCancelled):
		out.Kind = runtime.Cancelled
	case errors.Is(err, errOutOfFuel):
		out.Kind, out.Class, out.Code, out.Message = runtime.Failed, runtime.ClassExhausted, runtime.CodeOutOfFuel, err.Error()
	case err != nil:
		out.Kind, out.Class, out.Code, out.Message = runtime.Failed, runtime.ClassGuest, runtime.CodeHandlerError, err.Error()
	default:
		out.Kind, out.Result, out.HasResult = runtime.Succeeded, []byte(result), result != ""
		for _, doc := range j.Children {
			out.Children = append(out.Children, []byte(doc))
		}
	}
	return out
}

// content reads an input to its end.
func content(data []byte, from *runtime.Source) []byte {
	if from == nil {
		return data
	}
	data = make([]byte, from.Size)
	if n, err := from.ReadAt(data, 0); n < len(data) {
		panic(fmt.Sprintf("clustertest: read %d of %d bytes: %v", n, len(data), err))
	}
	return data
}

// Sleep lets time pass as a well-behaved guest does: it looks for a cancel every 50 ms.
func (j *Job) Sleep(ctx context.Context, d time.Duration) error {
	for end := time.Now().Add(d); ; {
		if j.Host.Signals()&abi.SignalCancel != 0 {
			return errCancelled
		}
		left := time.Until(end)
		if left <= 0 {
			return nil
		}
		pause := time.NewTimer(min(left, 50*time.Millisecond))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return ctx.Err()
		}
	}
}

// Outcomes asks the leader for all partitions of the job's operation, page by page.
func (j *Job) Outcomes(ctx context.Context, limit int) (map[string]int, []string, error) {
	statuses, results := map[string]int{}, []string(nil)
	for from := int64(0); from >= 0; {
		text, err := j.Host.Call(ctx, abi.OpPartitions, fmt.Appendf(nil, `{"from":%d,"limit":%d}`, from, limit))
		if err != nil {
			return nil, nil, err
		}
		var page struct {
			Partitions []struct {
				Index  int64
				Status string
				Result json.RawMessage
			}
			Next int64
		}
		if err := json.Unmarshal(text, &page); err != nil {
			return nil, nil, err
		}
		for _, p := range page.Partitions {
			statuses[p.Status]++
			results = append(results, fmt.Sprintf("%d=%s", p.Index, p.Result))
		}
		from = page.Next
	}
	return statuses, results, nil
}

// gates let a test hold jobs until it wants them to go on.
type gates struct {
	mu   sync.Mutex
	open map[string]chan struct{}
}

func (g *gates) of(name string) chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open == nil {
		g.open = map[string]chan struct{}{}
	}
	if g.open[name] == nil {
		g.open[name] = make(chan struct{})
	}
	return g.open[name]
}

// let opens a gate for good.
func (g *gates) let(name string) { close(g.of(name)) }

// pass waits at a gate.
func (g *gates) pass(ctx context.Context, name string) error {
	select {
	case <-g.of(name):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
