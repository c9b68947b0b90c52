package apitest

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/spaces"
	"github.com/taskrt/taskrt/task"
)

// fakeOperation is operation{} of a manifest.
type fakeOperation struct {
	Concurrency  string   `json:"concurrency"`
	Incompatible []string `json:"incompatible_with"`
	OnFailure    string   `json:"on_failure"`
	Resume       string   `json:"resume"`
	Complete     string   `json:"complete"`
	Cleanup      string   `json:"cleanup"`
}

func (o *fakeOperation) policy() *task.OperationPolicy {
	if o == nil {
		return nil
	}
	return &task.OperationPolicy{
		Concurrency:  map[string]task.Concurrency{"one_per_target": task.OnePerTarget, "one_per_object": task.OnePerObject}[o.Concurrency],
		Incompatible: slices.Sorted(slices.Values(o.Incompatible)),
		RunAll:       o.OnFailure == "run_all", Restart: o.Resume == "restart", Complete: o.Complete, Cleanup: o.Cleanup,
	}
}

// StartOperation implements api.Service.
func (f *Fake) StartOperation(ctx context.Context, r api.StartOperationRequest) (*api.Operation, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.machine.NamespaceExists(r.Namespace) {
		return nil, spaces.Unknown(r.Namespace)
	}
	if f.machine.Behavior(r.Namespace, r.Behavior) == nil {
		return nil, api.FieldError(api.CodeBehaviorNotFound, "behavior", "no behavior %s", r.Behavior)
	}
	c := task.StartOperation{
		Namespace: r.Namespace, ID: cmp.Or(r.ID, uuid.Must(uuid.NewV7()).String()), Behavior: r.Behavior, Target: r.Target, Object: r.Object,
		Partitions: r.Partitions.Count, Names: r.Partitions.Names, Arg: payload(r.Arg, nil), Labels: labelsOf(r.Labels), Priority: 4,
	}
	if r.Priority != nil {
		c.Priority = int8(*r.Priority)
	}
	var err error
	if c.Arg, err = f.naming("arg", c.Arg); err != nil {
		return nil, err
	}
	return f.operated(ctx, c)
}

// operated proposes a command that answers with an operation. f.mu is held.
func (f *Fake) operated(ctx context.Context, c task.Command) (*api.Operation, error) {
	r, err := f.propose(ctx, c)
	if err != nil {
		return nil, err
	}
	return f.showOperation(r.Operation), nil
}

// showOperation shows a record, with what its tasks do now. f.mu is held.
func (f *Fake) showOperation(o *task.Operation) *api.Operation {
	counts := fakeCounts(o)
	if now := f.machine.Operation(o.Key()); now != nil && now.CreatedRev == o.CreatedRev {
		counts = fakeCounts(now)
	}
	a := &api.Operation{
		Namespace: o.Namespace, ID: o.ID, Behavior: o.Behavior, Version: o.Version, Target: o.Target, Object: o.Object, Instance: o.Instance,
		Status: o.Status.String(), Stopping: o.Stop != "" && o.Status == task.OperationRunning, Partitions: o.Partitions,
		Counts: counts, Cleanups: api.OperationCleanups{Made: o.Cleanups, Dropped: o.Dropped},
		Labels: map[string]string{}, Priority: int(o.Priority), Rev: o.Rev, CreatedAt: api.TimeOf(int64(o.CreatedAt)), FinishedAt: showTime(o.FinishedAt),
	}
	a.Arg, _ = split(o.Arg)
	a.Result, a.ResultBase64 = split(o.Result)
	if o.Error != nil {
		a.Error = &api.TaskError{Code: o.Error.Code, Message: o.Error.Message, Retryable: o.Error.Retryable, Details: o.Error.Details.Data}
	}
	if id := o.ID + ":complete"; f.machine.Task(task.Key{Namespace: o.Namespace, ID: id}) != nil {
		a.Completion = id
	}
	for _, l := range o.Labels {
		a.Labels[l.Name] = l.Value
	}
	return a
}

func fakeCounts(o *task.Operation) api.OperationCounts {
	c := o.Counts
	return api.OperationCounts{Waiting: c.Waiting, Running: c.Running, Retrying: c.Retrying, Success: c.Success, Failure: c.Failure}
}

// fakeParams are the params of an operation's task, as its guest would get them.
func (f *Fake) fakeParams(t *task.Task) task.Payload {
	o := f.machine.OperationOf(t)
	if o == nil {
		return t.Params
	}
	arg := json.RawMessage("null")
	if o.Arg.Encoding == task.JSON {
		arg = o.Arg.Data
	}
	params := map[string]any{"operation": o.ID, "target": o.Target, "object": o.Object, "arg": arg}
	switch t.Role {
	case task.RoleCompletion:
		params["success"], params["counts"] = o.Counts.Success == o.Partitions, fakeCounts(o)
	case task.RoleCleanup, task.RolePartition, task.RoleNone:
		params["partition"] = t.Partition
	}
	text, _ := json.Marshal(params) // of values that came as JSON
	return task.Payload{Encoding: task.JSON, Data: text}
}

// operation finds one. f.mu is held.
func (f *Fake) operation(namespace, id string) (*task.Operation, task.Key, error) {
	key := task.Key{Namespace: cmp.Or(namespace, api.DefaultNamespace), ID: id}
	if err := api.CheckOperationID(id); err != nil {
		return nil, key, err
	}
	if !f.machine.NamespaceExists(key.Namespace) {
		return nil, key, spaces.Unknown(key.Namespace)
	}
	o := f.machine.Operation(key)
	if o == nil {
		return nil, key, api.NewError(string(task.OperationNotFound), "no operation %s", id)
	}
	return o, key, nil
}

// Operation implements api.Service.
func (f *Fake) Operation(ctx context.Context, namespace, id string, get api.OperationGet) (*api.Operation, error) {
	if err := get.Check(); err != nil {
		return nil, err
	}
	until, err := api.ParseOperationUntil(get.Until)
	if err != nil {
		return nil, err
	}
	timeout := time.NewTimer(get.Wait)
	defer timeout.Stop()
	f.mu.Lock()
	defer f.mu.Unlock()
	o, key, err := f.operation(namespace, id)
	if err != nil {
		return nil, err
	}
	for seen := len(f.events); get.Wait > 0 && !operationMet(until, o); {
		over, err := f.nextChange(ctx, timeout.C)
		if err != nil {
			return nil, err
		}
		for ; seen < len(f.events) && !operationMet(until, o); seen++ {
			switch e := &f.events[seen]; {
			case e.Operation == nil || e.Operation.Key() != key:
			case e.Kind == task.OperationRemoved || e.Operation.Removing:
				return nil, api.NewError(api.CodeRemoved, "operation %s was removed", id)
			default:
				o = e.Operation
			}
		}
		if over {
			break
		}
	}
	api.SetIndex(ctx, f.index)
	return f.showOperation(o), nil
}

// nextChange waits for an entry, the end of a wait, or of ctx. f.mu is held, and given away meanwhile.
func (f *Fake) nextChange(ctx context.Context, timeout <-chan time.Time) (over bool, err error) {
	changed := f.changed
	f.mu.Unlock()
	defer f.mu.Lock()
	select {
	case <-changed:
	case <-timeout:
		over = true
	case <-ctx.Done():
		err = ctx.Err()
	}
	return over, err
}

func operationMet(u api.Until, o *task.Operation) bool {
	switch u.Kind {
	case "completing":
		return o.Status >= task.OperationCompleting
	case "rev":
		return o.Final() || o.Rev >= u.N
	}
	return o.Final()
}

// Operations implements api.Service.
func (f *Fake) Operations(ctx context.Context, r api.OperationsRequest) (*api.OperationsReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	after, err := r.After()
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.machine.NamespaceExists(r.Namespace) {
		return nil, spaces.Unknown(r.Namespace)
	}
	filter := task.OperationFilter{Namespace: r.Namespace, Behavior: r.Behavior, Target: r.Target, Limit: r.Limit, After: after}
	for s := task.OperationRunning; s <= task.OperationFailure; s++ {
		if s.String() == r.Status {
			filter.Status = s
		}
	}
	all, next := f.machine.Operations(filter)
	reply := &api.OperationsReply{Operations: []*api.Operation{}, Cursor: api.OperationsCursor(next)}
	for _, o := range all {
		reply.Operations = append(reply.Operations, f.showOperation(o))
	}
	api.SetIndex(ctx, f.index)
	return reply, nil
}

// Partitions implements api.Service.
func (f *Fake) Partitions(ctx context.Context, r api.PartitionsRequest) (*api.ListReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	from, err := r.From()
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	_, key, err := f.operation(r.Namespace, r.ID)
	if err != nil {
		return nil, err
	}
	tasks, next := f.machine.OperationTasks(key, from, r.Limit, statusOf(r.Status))
	reply := &api.ListReply{Tasks: []*api.Task{}}
	for _, t := range tasks {
		reply.Tasks = append(reply.Tasks, f.show(t))
	}
	reply.Cursor = api.PartitionsCursor(next)
	api.SetIndex(ctx, f.index)
	return reply, nil
}

// CancelOperation implements api.Service.
func (f *Fake) CancelOperation(ctx context.Context, namespace, id string) (*api.Operation, error) {
	return f.changeOperation(ctx, namespace, id, func(k task.Key) task.Command { return task.CancelOperation{Key: k} })
}

// RetryOperation implements api.Service.
func (f *Fake) RetryOperation(ctx context.Context, namespace, id string) (*api.Operation, error) {
	return f.changeOperation(ctx, namespace, id, func(k task.Key) task.Command { return task.RetryOperation{Key: k} })
}

func (f *Fake) changeOperation(ctx context.Context, namespace, id string, command func(task.Key) task.Command) (*api.Operation, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, key, err := f.operation(namespace, id)
	if err != nil {
		return nil, err
	}
	return f.operated(ctx, command(key))
}

// RemoveOperation implements api.Service.
func (f *Fake) RemoveOperation(ctx context.Context, namespace, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, key, err := f.operation(namespace, id)
	if err != nil {
		return err
	}
	_, err = f.propose(ctx, task.RemoveOperation{Key: key})
	return err
}
