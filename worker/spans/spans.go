// Package spans notes what an attempt did and when, if its trace wants to know (SPEC U2). It knows no library of traces.
package spans

import (
	"context"
	"encoding/json"
	"time"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/runtime/fetch"
	"github.com/taskrt/taskrt/runtime/guestspans"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/tracing"
)

// MaxCalls bounds the calls of an attempt that are noted one by one, so that no guest floods the collector of spans. Further ones are counted.
const MaxCalls = 128

// Attempt is an attempt of a task whose trace is sampled. Times are Unix nanoseconds; 0: it was not. Methods of nil do nothing.
type Attempt struct {
	// What the task's record says.
	Trace                   string `json:"-"` // traceparent of the task
	Namespace, ID, Behavior string `json:"-"`
	Version, Worker, Node   string `json:"-"`
	Number                  int64  `json:"-"`
	Former                  int64  `json:"-"` // number of the attempt that this one repeats; 0: none
	Due                     int64  `json:"-"` // since when it waited
	Outcome                 string `json:"-"` // as in the task's history; "": the worker knows
	Parent, Partition       string `json:"-"`

	// What was measured where it ran.
	Came, Over   int64  // when the assignment came, and when it was concluded
	Made         int64  // when its module was ready, if it was not when the assignment came
	Began, Ended int64  // of guest code
	Calls        []Call // of the guest to what lies outside of its worker, and its own spans
	More         int64  // those beyond MaxCalls

	own nesting
}

// Call is one call of a guest, or a span of its own.
type Call struct {
	Name         string
	Began, Ended int64
	Failed       bool
	In           int                    `json:",omitempty"` // the index of the span of the guest around it, and one; 0: none
	Own          bool                   `json:",omitempty"` // a span of the guest
	Why          string                 `json:",omitempty"` // it failed
	Attributes   []guestspans.Attribute `json:",omitempty"`
}

// Names are those that a Call may have.
var Names = map[string]bool{
	"checkpoint": true, "op.partitions": true, "blob.size": true, "blob.read": true, "secret": true, "tasks.submit": true, "http": true, "call": true,
}

// Of returns what the record of a running task says of its attempt; nil if nobody wants its spans.
func Of(t *task.Task) *Attempt {
	if !tracing.Sampled(t.Trace) {
		return nil
	}
	a := attempt(t, t.Attempt, t.History)
	if l := t.Lease; l != nil {
		a.Worker, a.Node = l.Worker, l.Node
	}
	return a
}

// Lapsed returns an attempt that ended without a worker to tell of it, or that a program outside made: the last of a record's history.
func Lapsed(t *task.Task) *Attempt {
	last := len(t.History) - 1
	if last < 0 || !tracing.Sampled(t.Trace) {
		return nil
	}
	h := &t.History[last]
	a := attempt(t, h.Number, t.History[:last])
	a.Worker, a.Node, a.Outcome = h.Worker, h.Node, h.Outcome
	a.Came, a.Over = nano(h.StartedAt), nano(h.FinishedAt)
	return a
}

// attempt describes an attempt that comes after those of a history.
func attempt(t *task.Task, number int64, history []task.Attempt) *Attempt {
	a := &Attempt{
		Trace: t.Trace, Namespace: t.Namespace, ID: t.ID, Behavior: t.Behavior, Version: t.Version, Number: number,
		Parent: t.Parent, Partition: t.Partition,
	}
	switch n := len(history); {
	case number == 1:
		a.Due = nano(t.CreatedAt)
	case n > 0 && history[n-1].Number == number-1 && history[n-1].Outcome != "SUCCESS" && (t.Failures > 0 || t.LostCount > 0 || unfinished[history[n-1].Outcome]):
		a.Former, a.Due = number-1, nano(history[n-1].FinishedAt)
	}
	return a
}

// unfinished are the outcomes of attempts that always have a next one.
var unfinished = map[string]bool{"LOST": true, "SUSPECT": true, "GIVEN_BACK": true, "SNOOZED": true}

func nano(t task.Time) int64 { return int64(t) * int64(time.Millisecond) }

// Arrived notes when the assignment came. It asks the clock, as the methods below do, only if somebody wants to know.
func (a *Attempt) Arrived(now func() time.Time) *Attempt {
	if a != nil {
		a.Came = now().UnixNano()
	}
	return a
}

// Loaded notes that the module was made ready for it.
func (a *Attempt) Loaded(now func() time.Time) {
	if a != nil {
		a.Made = now().UnixNano()
	}
}

// Ran notes when guest code ran: out has it by a clock of which boot is the present.
func (a *Attempt) Ran(out *runtime.Outcome, now func() time.Time, boot time.Duration) {
	if a != nil && out.Started != 0 {
		zero := now().UnixNano() - int64(boot)
		a.Began, a.Ended = zero+out.Started, zero+out.Ended
		a.endOwn()
	}
}

// Concluded notes the end.
func (a *Attempt) Concluded(now func() time.Time) *Attempt {
	if a != nil {
		a.Over = now().UnixNano()
	}
	return a
}

// Append appends what was measured.
func (a *Attempt) Append(b []byte) []byte {
	measured, err := json.Marshal(a)
	if err != nil {
		panic(err) // texts and numbers always marshal
	}
	return append(b, measured...)
}

// Measured returns a with what Append has written somewhere else, within the bounds that hold for it.
func (a *Attempt) Measured(b []byte) *Attempt {
	var m Attempt
	if a == nil || json.Unmarshal(b, &m) != nil {
		return nil
	}
	n := *a
	n.Came, n.Over, n.Made, n.Began, n.Ended, n.More = m.Came, m.Over, m.Made, m.Began, m.Ended, max(m.More, 0)
	n.Calls = m.Calls[:min(len(m.Calls), MaxCalls)]
	for i := range n.Calls {
		n.Calls[i].bound(n.Calls[:i])
	}
	return &n
}

// call notes a call from when it begins to when the function that it returns is called.
func (a *Attempt) call(name string) (ended func(error)) {
	if len(a.Calls) >= MaxCalls {
		a.More++
		return func(error) {}
	}
	i := len(a.Calls)
	a.Calls = append(a.Calls, Call{Name: name, Began: time.Now().UnixNano(), In: a.own.in()})
	return func(err error) { a.Calls[i].Ended, a.Calls[i].Failed = time.Now().UnixNano(), err != nil }
}

// Host returns a host that notes what the guest calls.
func (a *Attempt) Host(h runtime.Host) runtime.Host {
	if a == nil {
		return h
	}
	return host{h, a}
}

type host struct {
	runtime.Host
	a *Attempt
}

// Checkpoint implements runtime.Host.
func (h host) Checkpoint(ctx context.Context, data []byte) (err error) {
	defer func(ended func(error)) { ended(err) }(h.a.call("checkpoint"))
	return h.Host.Checkpoint(ctx, data)
}

var ops = map[abi.Op]string{abi.OpPartitions: "op.partitions", abi.OpBlobSize: "blob.size", abi.OpBlobRead: "blob.read"}

// Call implements runtime.Host.
func (h host) Call(ctx context.Context, op abi.Op, payload []byte) (response []byte, err error) {
	defer func(ended func(error)) { ended(err) }(h.a.call(ops[op]))
	return h.Host.Call(ctx, op, payload)
}

// Outside returns an Outside that notes what the guest calls. It is the Watch of a runtime.Attempt.
func (a *Attempt) Outside(o runtime.Outside) runtime.Outside { return outside{o, a} }

type outside struct {
	runtime.Outside
	a *Attempt
}

// Secret implements runtime.Outside.
func (o outside) Secret(ctx context.Context, name string) (secret []byte, err error) {
	defer func(ended func(error)) { ended(err) }(o.a.call("secret"))
	return o.Outside.Secret(ctx, name)
}

// MaySubmit implements runtime.Outside.
func (o outside) MaySubmit(ctx context.Context, behavior string) (err error) {
	defer func(ended func(error)) { ended(err) }(o.a.call("tasks.submit"))
	return o.Outside.MaySubmit(ctx, behavior)
}

// HTTP implements runtime.Outside.
func (o outside) HTTP(ctx context.Context, q *fetch.Request) (r *fetch.Response, err error) {
	defer func(ended func(error)) { ended(err) }(o.a.call("http"))
	return o.Outside.HTTP(ctx, q)
}
