package apitest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/spaces"
	"github.com/taskrt/taskrt/task"
)

func line(b *task.Behavior) api.Behavior {
	kind := "wasm"
	if b.External {
		kind = "external"
	}
	return api.Behavior{Name: b.Name, Version: b.Active, Kind: kind, Paused: b.Paused}
}

func detail(b *task.Behavior) *api.BehaviorDetail {
	d := &api.BehaviorDetail{Behavior: line(b), Manifest: json.RawMessage(`{"name":` + strconv.Quote(b.Name) + `}`), Versions: []api.BehaviorVersion{}}
	for _, v := range slices.Backward(b.Versions) {
		active := v.Version == b.Active
		if active {
			d.Module = v.Module
		}
		d.Versions = append(d.Versions, api.BehaviorVersion{Version: v.Version, Module: v.Module, Active: active, ActivatedAt: api.TimeOf(int64(v.ActivatedAt))})
	}
	return d
}

// Behaviors implements api.Service.
func (f *Fake) Behaviors(_ context.Context, namespace string) ([]api.Behavior, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ns := cmp.Or(namespace, api.DefaultNamespace)
	if !f.machine.NamespaceExists(ns) {
		return nil, spaces.Unknown(ns)
	}
	behaviors := []api.Behavior{}
	for _, b := range f.machine.Behaviors(ns) {
		behaviors = append(behaviors, line(b))
	}
	return behaviors, nil
}

// Behavior implements api.Service.
func (f *Fake) Behavior(_ context.Context, namespace, name string) (*api.BehaviorDetail, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b, err := f.behavior(namespace, name)
	if err != nil {
		return nil, err
	}
	return detail(b), nil
}

func (f *Fake) behavior(namespace, name string) (*task.Behavior, error) {
	if err := api.CheckBehaviorName("name", name); err != nil {
		return nil, err
	}
	ns := cmp.Or(namespace, api.DefaultNamespace)
	if !f.machine.NamespaceExists(ns) {
		return nil, spaces.Unknown(ns)
	}
	b := f.machine.Behavior(ns, name)
	if b == nil {
		return nil, api.NewError(api.CodeBehaviorNotFound, "no behavior %.128s", name)
	}
	return b, nil
}

// PutBehavior implements api.Service. Of a policy it knows what the suite uses.
func (f *Fake) PutBehavior(ctx context.Context, r api.PutBehaviorRequest) (*api.PutBehaviorReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	var x api.ExternalBehavior
	dec := json.NewDecoder(bytes.NewReader(r.Policy))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&x); err != nil {
		return nil, api.NewError(api.CodeInvalidField, "%v", err)
	}
	if x.Kind != "external" {
		return nil, api.FieldError(api.CodeInvalidField, "kind", `must be "external"`)
	}
	policy := task.DefaultPolicy()
	policy.Lease = cmp.Or(millisOf(x.Lease), policy.Lease)
	policy.CancelGrace = cmp.Or(millisOf(x.CancelGrace), policy.CancelGrace)
	policy.RepeatEvery = millisOf(x.RepeatEvery)
	policy.ConcurrencyKey, policy.KeyStrict = x.ConcurrencyKey, x.KeyOrder == "strict"
	if x.ID != nil && x.ID.Strategy == "params" {
		policy.IDStrategy = task.IDParams
	}
	if x.MaxConcurrent != nil {
		policy.MaxConcurrent = *x.MaxConcurrent
	}
	if x.MaxPerKey != nil {
		policy.MaxPerKey = *x.MaxPerKey
	}
	if x.Retry != nil && x.Retry.MaxAttempts != nil {
		policy.Retry.MaxAttempts = *x.Retry.MaxAttempts
	}
	if x.Retry != nil && x.Retry.InitialInterval != nil {
		policy.Retry.InitialInterval = millisOf(x.Retry.InitialInterval)
	}
	canonical, err := json.Marshal(x)
	if err != nil {
		return nil, api.NewError(api.CodeInternal, "%v", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	res, err := f.propose(ctx, task.PutBehavior{
		Namespace: r.Namespace, Name: r.Name, Version: digest(append([]byte("external\x00"), canonical...)), Policy: policy,
	})
	if err != nil {
		return nil, err
	}
	return &api.PutBehaviorReply{Behavior: detail(res.Behavior), Created: res.Outcome == task.SubmitCreated}, nil
}

// keyOf finds a concurrency key (SPEC L11) by a pointer to a member of the params.
func keyOf(p *task.Policy, params task.Payload) string {
	var members map[string]json.RawMessage
	if p.ConcurrencyKey == "" || json.Unmarshal(params.Data, &members) != nil {
		return ""
	}
	return string(members[strings.TrimPrefix(p.ConcurrencyKey, "/")])
}

// DeleteBehavior implements api.Service.
func (f *Fake) DeleteBehavior(ctx context.Context, namespace, name string, purge bool) error {
	if err := api.CheckUserNamespace(namespace); err != nil {
		return err
	}
	_, err := f.change(ctx, namespace, name, func(ns string) task.Command {
		return task.DeleteBehavior{Namespace: ns, Name: name, Purge: purge}
	})
	return err
}

// ActivateVersion implements api.Service.
func (f *Fake) ActivateVersion(ctx context.Context, namespace, name, version string) (*api.BehaviorDetail, error) {
	if err := api.CheckUserNamespace(namespace); err != nil {
		return nil, err
	}
	return f.changeDetail(ctx, namespace, name, func(ns string) task.Command {
		return task.ActivateVersion{Namespace: ns, Name: name, Version: version}
	})
}

// PauseBehavior implements api.Service.
func (f *Fake) PauseBehavior(ctx context.Context, namespace, name string, paused bool) (*api.BehaviorDetail, error) {
	return f.changeDetail(ctx, namespace, name, func(ns string) task.Command {
		return task.PauseBehavior{Namespace: ns, Name: name, Paused: paused}
	})
}

func (f *Fake) change(ctx context.Context, namespace, name string, command func(ns string) task.Command) (task.Result, error) {
	if err := api.CheckBehaviorName("name", name); err != nil {
		return task.Result{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.propose(ctx, command(cmp.Or(namespace, api.DefaultNamespace)))
}

func (f *Fake) changeDetail(ctx context.Context, namespace, name string, command func(ns string) task.Command) (*api.BehaviorDetail, error) {
	r, err := f.change(ctx, namespace, name, command)
	if err != nil {
		return nil, err
	}
	return detail(r.Behavior), nil
}

// BehaviorStats implements api.Service.
func (f *Fake) BehaviorStats(_ context.Context, namespace, name string) (*api.BehaviorStats, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b, err := f.behavior(namespace, name)
	if err != nil {
		return nil, err
	}
	s := f.machine.BehaviorStats(b.Namespace, b.Name)
	return &api.BehaviorStats{Due: s.Due, Delayed: s.Delayed, Running: s.Running, Retrying: s.Retrying, Oldest: showTime(s.Oldest)}, nil
}

// Workers implements api.Service.
func (f *Fake) Workers(context.Context) ([]api.Worker, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.machine.Session(f.session)
	workers := []api.Worker{{
		ID: "fake", Kind: "session", Node: "fake", Session: s.ID, Slots: s.Slots, Running: s.Running, Drained: f.machine.Drained("fake"),
	}}
	external := f.machine.ExternalWorkers()
	for _, name := range slices.Sorted(maps.Keys(external)) {
		workers = append(workers, api.Worker{ID: name, Kind: "external", Running: external[name]})
	}
	return workers, nil
}

// Drain implements api.Service.
func (f *Fake) Drain(ctx context.Context, node string, drain bool) (*api.Node, error) {
	if err := api.CheckNode(node); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if node != "fake" {
		return nil, api.NewError(api.CodeMemberNotFound, "no member %s", node)
	}
	if _, err := f.propose(ctx, task.DrainNode{Node: node, Drain: drain}); err != nil {
		return nil, err
	}
	n := f.node()
	return &n, nil
}

func (f *Fake) node() api.Node {
	d := f.machine.Digest()
	return api.Node{
		ID: "fake", Role: "leader", Reachable: true, AppliedIndex: f.index, Drained: f.machine.Drained("fake"),
		Digest: strconv.FormatUint(d.Index, 10) + ":" + strconv.FormatUint(d.Sum, 16),
	}
}

// Cluster implements api.Service.
func (f *Fake) Cluster(ctx context.Context) (*api.Cluster, error) {
	workers, err := f.Workers(ctx)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.machine.Counts()
	return &api.Cluster{
		Leader: "fake", Nodes: []api.Node{f.node()}, Workers: workers,
		Tasks: api.Totals{Created: n.Created, Running: n.Running, Retrying: n.Retrying, Repeating: n.Repeating, Success: n.Success, Failure: n.Failure},
	}, nil
}

// Ready implements api.Service.
func (f *Fake) Ready(context.Context) error { return nil }
