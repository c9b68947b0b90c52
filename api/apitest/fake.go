package apitest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/runs"
	"github.com/taskrt/taskrt/api/spaces"
	"github.com/taskrt/taskrt/task"
)

// Fake is a Service of one process without Raft, wasm or disk: a real task.Machine with a worker that knows the suite's
// modules by their code. It is what the packages below api test themselves with, and what a user of client.Client may test with.
type Fake struct {
	mu      sync.Mutex
	machine *task.Machine
	start   time.Time
	index   uint64
	session uint64
	events  []task.Event
	changed chan struct{} // closed and replaced at every entry
	timer   *time.Timer
	closed  bool
	wasm    map[string][]byte // by digest
}

var _ api.Service = (*Fake)(nil)

const (
	fakeSlots = 4
	fakeTTL   = 365 * 24 * 3600 * 1000
)

// NewFake makes one; Close it.
func NewFake() *Fake {
	f := &Fake{machine: task.NewMachine(), start: time.Now(), changed: make(chan struct{}), wasm: map[string][]byte{}}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.session = f.apply(task.OpenSession{Worker: "fake", Node: "fake", Slots: fakeSlots, TTL: fakeTTL, Proof: []byte("fake")}).Session.ID
	f.seedMaintenance()
	return f
}

// Close stops its timer.
func (f *Fake) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	if f.timer != nil {
		f.timer.Stop()
	}
}

// apply puts one command into the log. f.mu is held.
func (f *Fake) apply(c task.Command) task.Result { return f.applyOnce(c, task.Origin{}) }

func (f *Fake) applyOnce(c task.Command, o task.Origin) task.Result {
	f.index++
	results, events := f.machine.Apply(task.Header{
		Index: f.index, Term: 1, Now: task.Time(time.Now().UnixMilli()), LeaseNow: task.LeaseTime(time.Since(f.start).Milliseconds()) + 1,
	}, []task.Proposal{{Origin: o, Command: c}})
	f.events = append(f.events, events...)
	return results[0]
}

// propose applies a command of a user and lets the worker work. f.mu is held.
func (f *Fake) propose(ctx context.Context, c task.Command) (task.Result, error) {
	r := f.applyOnce(c, originOf(ctx))
	if r.Code == task.OK && purges(c) {
		f.apply(task.StartMaintenance{})
	}
	f.work()
	f.announce()
	if r.Code != task.OK {
		return r, f.refusal(&r)
	}
	api.SetIndex(ctx, f.index)
	return r, nil
}

// refusal is the error of a command that was refused.
func (f *Fake) refusal(r *task.Result) *api.Error {
	e := api.FieldError(string(r.Code), r.Field, "%s", cmp.Or(r.Message, string(r.Code)))
	if r.Code == task.QuotaExceeded {
		spaces.Quota(e, r.Space)
	}
	if r.Operation != nil && (r.Code == task.OperationConflict || r.Code == task.AlreadyExists) {
		e.Operation = f.showOperation(r.Operation)
	}
	runs.Refusal(e, r)
	for _, why := range r.Reasons {
		e.Reasons = append(e.Reasons, api.Reason{Kind: why.Kind, ID: why.ID})
	}
	return e
}

// part numbers the commands of one request, which an idempotency key tells apart (SPEC H4).
type part struct{}

func withPart(ctx context.Context, i int) context.Context { return context.WithValue(ctx, part{}, i) }

func originOf(ctx context.Context) task.Origin {
	once, ok := api.OnceOf(ctx)
	if !ok {
		return task.Origin{}
	}
	i, _ := ctx.Value(part{}).(int)
	return task.Origin{Process: once.Key, Body: once.Body, Seq: uint64(i) + 1, Lowest: 1}
}

// work assigns what is due and runs it; spinning tasks run until they are cancelled.
func (f *Fake) work() {
	for progress := true; progress; {
		progress = false
		free := fakeSlots - int(f.machine.Session(f.session).Running)
		if free > 0 {
			for _, a := range f.machine.Plan([]task.Free{{Session: f.session, Slots: free}}, free) {
				progress = f.apply(a).Code == task.OK || progress
			}
		}
		for _, t := range f.machine.Leases(f.session) {
			if finish, ends := f.outcome(t); ends {
				f.apply(finish)
				progress = true
			}
		}
	}
}

// FakeFuel is what an attempt of any module uses in a Fake.
const FakeFuel = 1000

// outcome runs a task as its module's code would.
func (f *Fake) outcome(t *task.Task) (task.Finish, bool) {
	v := f.machine.Version(t.Namespace, t.Behavior, t.Version)
	finish := task.Finish{Key: t.Key(), Token: t.Lease.Token, Seq: t.Lease.Report + 1}
	if v.Module == task.NativeMaintenance {
		finish.Again = f.maintain(t)
		return finish, true
	}
	finish.Fuel = FakeFuel
	switch wasm := f.wasm[v.Module]; {
	case bytes.Contains(wasm, codeSpin):
		if t.CancelCode == "" {
			return finish, false
		}
		finish.Error = &task.Error{Code: task.CodeHandlerError, Message: "killed"}
	case bytes.Contains(wasm, append(slices.Clone(codeFail), 0x0b)):
		finish.Error = &task.Error{Code: task.CodeHandlerError, Message: "the guest failed"}
	case bytes.Contains(wasm, codeOdd) && v.Policy.Index%2 == 1:
		finish.Error = &task.Error{Code: task.CodeHandlerError, Message: "the guest failed"}
	}
	return finish, true
}

// arm sets the timer to the next time at which a Tick does something.
func (f *Fake) arm() {
	wall, lease := f.machine.NextTick()
	if f.timer != nil {
		f.timer.Stop()
	}
	if wall == 0 && lease == 0 || f.closed {
		return
	}
	pause := time.Until(time.UnixMilli(int64(wall)))
	if left := time.Until(f.start.Add(time.Duration(lease) * time.Millisecond)); wall == 0 || lease != 0 && left < pause {
		pause = left
	}
	f.timer = time.AfterFunc(max(pause, time.Millisecond), func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if !f.closed {
			_, _ = f.propose(context.Background(), task.Tick{})
		}
	})
}

// Submit implements api.Service.
func (f *Fake) Submit(ctx context.Context, r api.SubmitRequest) (*api.SubmitReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	reply, err := f.submit(ctx, &r)
	if err == nil && r.Wait > 0 {
		err = reply.AwaitSubmitted(ctx, f, r.Wait)
	}
	if err != nil {
		return nil, err
	}
	return reply, nil
}

func (f *Fake) submit(ctx context.Context, r *api.SubmitRequest) (*api.SubmitReply, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c, err := f.submitOf(r)
	if err != nil {
		return nil, err
	}
	if _, keyed := api.OnceOf(ctx); !keyed { // the answer under a key may be kept
		if _, over := f.machine.OverRate(&c, 0, task.Time(time.Now().UnixMilli())); over != nil {
			return nil, spaces.OverRate(over)
		}
	}
	result, err := f.propose(ctx, c)
	if err != nil {
		return nil, err
	}
	reply := &api.SubmitReply{Task: f.show(result.Task), Outcome: result.Outcome.String()}
	if r.Minimal && r.Wait == 0 {
		reply.Task = reply.Task.Minimal()
	}
	return reply, nil
}

// submitOf is the command of a request that has been checked. f.mu is held.
func (f *Fake) submitOf(r *api.SubmitRequest) (c task.Submit, err error) {
	if !f.machine.NamespaceExists(r.Namespace) {
		return c, spaces.Unknown(r.Namespace)
	}
	b := f.machine.Behavior(r.Namespace, r.Behavior)
	if b == nil {
		return c, api.FieldError(api.CodeBehaviorNotFound, "behavior", "no behavior %s", r.Behavior)
	}
	v, _ := b.Find("")
	c = task.Submit{
		Namespace: r.Namespace, ID: r.ID, Behavior: r.Behavior, Params: payload(r.Params, r.ParamsBase64), Priority: 4,
		IfExists:  map[string]task.IfExists{"fail": task.Fail, "rerun": task.Rerun, "resubmit": task.Resubmit}[r.IfExists],
		HasParams: r.Params != nil || r.ParamsBase64 != nil, BehaviorRev: b.Rev,
		NotBefore: timeOf(r.NotBefore), Delay: millisOf(r.Delay), Deadline: timeOf(r.Deadline), Labels: labelsOf(r.Labels),
	}
	if r.Priority != nil {
		c.Priority = int8(*r.Priority)
	}
	if c.Params, err = f.whole("params", c.Params); err != nil {
		return c, err
	}
	c.ConcurrencyKey = keyOf(&v.Policy, c.Params)
	if c.ID == "" {
		c.ID = drawID(&c, v.Policy.IDStrategy)
	}
	c.Params, err = f.packed(c.Params)
	return c, err
}

func timeOf(t *api.Time) task.Time {
	if t == nil {
		return 0
	}
	return task.Time(t.UnixMilli())
}

func millisOf(d *api.Duration) task.Millis {
	if d == nil {
		return 0
	}
	return task.Millis(time.Duration(*d).Milliseconds())
}

func labelsOf(m map[string]string) (labels []task.Label) {
	for name, value := range m {
		labels = append(labels, task.Label{Name: name, Value: value})
	}
	slices.SortFunc(labels, func(a, b task.Label) int { return cmp.Compare(a.Name, b.Name) })
	return labels
}

// drawID is SPEC I1, I2 for the simple params of the suite, whose canonical form encoding/json makes.
func drawID(c *task.Submit, strategy task.IDStrategy) string {
	if strategy != task.IDParams {
		return uuid.Must(uuid.NewV7()).String()
	}
	return idOfParams(c.Namespace, c.Behavior, c.Params)
}

func idOfParams(namespace, behavior string, p task.Payload) string {
	var v any
	canonical := []byte("null")
	if json.Unmarshal(p.Data, &v) == nil {
		canonical, _ = json.Marshal(v)
	}
	return task.DeterministicID(namespace, behavior, canonical)
}

// SubmitBatch implements api.Service.
func (f *Fake) SubmitBatch(ctx context.Context, rs []api.SubmitRequest) ([]api.SubmitResult, error) {
	if err := api.CheckBatch(rs); err != nil {
		return nil, err
	}
	results := make([]api.SubmitResult, len(rs))
	for i, r := range rs {
		reply, err := f.Submit(withPart(ctx, i), r)
		results[i].SubmitReply = reply
		results[i].Error, _ = errors.AsType[*api.Error](err)
	}
	return results, nil
}

// Task implements api.Service.
func (f *Fake) Task(ctx context.Context, namespace, id string, o api.GetOptions) (*api.Task, error) {
	if err := cmp.Or(api.CheckID(id), o.Check()); err != nil {
		return nil, err
	}
	until, err := api.ParseUntil(o.Until)
	if err != nil {
		return nil, err
	}
	key := task.Key{Namespace: cmp.Or(namespace, api.DefaultNamespace), ID: id}
	timeout := time.NewTimer(o.Wait)
	defer timeout.Stop()
	f.mu.Lock()
	defer f.mu.Unlock()
	t, err := f.find(key)
	if err != nil {
		return nil, err
	}
	since := o.Since
	if since == 0 {
		since = t.Rev
	}
	for seen := len(f.events); o.Wait > 0 && !met(until, t, since); {
		over, gone := f.nextChange(ctx, timeout.C)
		if gone != nil {
			return nil, gone
		}
		for ; seen < len(f.events); seen++ {
			if e := &f.events[seen]; e.Task == nil || e.Task.Key() != key {
				continue
			} else if e.Kind == task.TaskRemoved {
				return nil, api.NewError(api.CodeRemoved, "task %s was removed", id)
			} else if t = e.Task; met(until, t, since) {
				break
			}
		}
		if over {
			break
		}
	}
	api.SetIndex(ctx, f.index)
	return f.show(t), nil
}

// met is SPEC W1.
func met(u api.Until, t *task.Task, since uint64) bool {
	outcome := t.Status == task.Success || t.Status == task.Failure
	switch {
	case t.Final():
		return true
	case u.Kind == "running":
		return t.Status == task.Running
	case u.Kind == "waiting":
		return t.Status != task.Running
	case u.Kind == "success":
		return t.Status == task.Success && t.Rev > since
	case u.Kind == "failure":
		return t.Status == task.Failure && t.Rev > since
	case u.Kind == "outcome":
		return outcome && t.Rev > since && (t.Status == task.Success || t.Version == "")
	case u.Kind == "rev":
		return t.Rev >= u.N
	case u.Kind == "attempt":
		return t.Attempt > int64(u.N) || t.Attempt == int64(u.N) && (outcome || t.Status == task.Created)
	}
	return false
}

func (f *Fake) find(key task.Key) (*task.Task, error) {
	if !f.machine.NamespaceExists(key.Namespace) {
		return nil, spaces.Unknown(key.Namespace)
	}
	if t := f.machine.Task(key); t != nil {
		return t, nil
	}
	return nil, api.NewError(api.CodeTaskNotFound, "no task %s", key.ID)
}

// Tasks implements api.Service.
func (f *Fake) Tasks(ctx context.Context, r api.ListRequest) (*api.ListReply, error) {
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
	filter := task.Filter{Namespace: r.Namespace, Behavior: r.Behavior, Parent: r.Parent, Limit: r.Limit, After: after}
	for _, s := range r.Statuses {
		filter.Statuses = append(filter.Statuses, statusOf(s))
	}
	for _, l := range r.Labels {
		name, value, _ := strings.Cut(l, "=")
		filter.Labels = append(filter.Labels, task.Label{Name: name, Value: value})
	}
	if r.DueBefore != nil {
		filter.DueBefore = task.Time(r.DueBefore.UnixMilli())
	}
	tasks, next := f.machine.Tasks(filter)
	reply := &api.ListReply{Tasks: []*api.Task{}, Cursor: api.TasksCursor(next)}
	for _, t := range tasks {
		reply.Tasks = append(reply.Tasks, f.show(t))
	}
	api.SetIndex(ctx, f.index)
	return reply, nil
}

func statusOf(name string) task.Status {
	for s := task.Created; s <= task.Failure; s++ {
		if s.String() == name {
			return s
		}
	}
	return 0
}

// Cancel implements api.Service.
func (f *Fake) Cancel(ctx context.Context, namespace, id string) (*api.CancelReply, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key, err := f.key(namespace, id)
	if err != nil {
		return nil, err
	}
	r, err := f.propose(ctx, task.Cancel{Key: key})
	if err != nil {
		return nil, err
	}
	return &api.CancelReply{Task: f.show(r.Task), Told: r.Told}, nil
}

func (f *Fake) key(namespace, id string) (task.Key, error) {
	key := task.Key{Namespace: cmp.Or(namespace, api.DefaultNamespace), ID: id}
	if err := api.CheckID(id); err != nil {
		return key, err
	}
	_, err := f.find(key)
	return key, err
}

// Remove implements api.Service.
func (f *Fake) Remove(ctx context.Context, namespace, id string) error {
	if err := api.CheckUserNamespace(namespace); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	key, err := f.key(namespace, id)
	if err != nil {
		return err
	}
	_, err = f.propose(ctx, task.Remove{Key: key})
	return err
}

// Logs implements api.Service: its guests log nothing.
func (f *Fake) Logs(_ context.Context, namespace, id string) (*api.LogsReply, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.key(namespace, id); err != nil {
		return nil, err
	}
	return &api.LogsReply{Attempts: []api.AttemptLog{}}, nil
}

// Push implements api.Service. Of a manifest it knows names, ID strategies, cancel_grace and operation.
func (f *Fake) Push(ctx context.Context, r api.PushRequest) (*api.Module, error) {
	if err := api.CheckUserNamespace(r.Namespace); err != nil {
		return nil, err
	}
	wasm, err := io.ReadAll(io.LimitReader(r.Wasm, api.MaxModule+1))
	if err != nil {
		return nil, api.NewError(api.CodeBadRequest, "reading the module: %v", err)
	}
	switch {
	case len(wasm) > api.MaxModule:
		return nil, api.LimitError("wasm", api.MaxModule, "at most %d bytes", api.MaxModule)
	case !bytes.HasPrefix(wasm, []byte("\x00asm\x01\x00\x00\x00")):
		return nil, api.UploadError("not_wasm", "", "the file is not a wasm module")
	case !bytes.Contains(wasm, []byte("taskrt_run")):
		return nil, api.UploadError("missing_export", "export taskrt_run", "the module has no taskrt_run")
	}
	manifest := fakeManifest{Behaviors: []fakeBehavior{{Name: r.Name}}}
	if r.Manifest != nil {
		dec := json.NewDecoder(bytes.NewReader(r.Manifest))
		dec.DisallowUnknownFields()
		manifest = fakeManifest{}
		if err := dec.Decode(&manifest); err != nil {
			return nil, api.UploadError("bad_manifest", "manifest", err.Error())
		}
	}
	text, _ := json.Marshal(manifest)
	c := task.Activate{
		Namespace: cmp.Or(r.Namespace, api.DefaultNamespace),
		Module:    task.Module{Digest: digest(wasm), Size: int64(len(wasm)), Manifest: text, Version: digest(append(text, digest(wasm)...))},
	}
	for i, b := range manifest.Behaviors {
		policy := task.DefaultPolicy()
		policy.Index, policy.Operation = int32(i), b.Operation.policy()
		if b.ID.Strategy == "params" {
			policy.IDStrategy = task.IDParams
		}
		if api.CheckBehaviorName("name", b.Name) != nil {
			return nil, api.UploadError("bad_manifest", "name", "a behavior needs a name")
		}
		c.Behaviors = append(c.Behaviors, task.Activated{Name: b.Name, Policy: policy})
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wasm[c.Module.Digest] = wasm
	if _, err := f.propose(ctx, c); err != nil {
		return nil, err
	}
	m := f.module(c.Namespace, &c.Module)
	return &m, nil
}

type fakeManifest struct {
	Schema    int            `json:"schema"`
	Behaviors []fakeBehavior `json:"behaviors"`
}

type fakeBehavior struct {
	Name        string       `json:"name"`
	CancelGrace api.Duration `json:"cancel_grace"`
	ID          struct {
		Strategy string `json:"strategy"`
	} `json:"id"`
	Operation *fakeOperation `json:"operation,omitempty"`
}

func (f *Fake) module(ns string, x *task.Module) api.Module {
	m := api.Module{Digest: x.Digest, Version: x.Version, Size: x.Size, Behaviors: []api.ModuleBehavior{}}
	for _, b := range f.machine.Behaviors(ns) {
		for _, v := range slices.Backward(b.Versions) {
			if v.Module == x.Digest {
				m.Behaviors = append(m.Behaviors, api.ModuleBehavior{Name: b.Name, Version: v.Version, Active: v.Version == b.Active})
			}
		}
	}
	return m
}

// Modules implements api.Service.
func (f *Fake) Modules(_ context.Context, namespace string) ([]api.Module, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ns := cmp.Or(namespace, api.DefaultNamespace)
	if !f.machine.NamespaceExists(ns) {
		return nil, spaces.Unknown(ns)
	}
	modules := []api.Module{}
	for _, m := range f.machine.Modules() {
		if x := f.module(ns, m); len(x.Behaviors) > 0 {
			modules = append(modules, x)
		}
	}
	return modules, nil
}

// Module implements api.Service.
func (f *Fake) Module(ctx context.Context, namespace, digest string) (*api.Module, error) {
	modules, err := f.Modules(ctx, namespace)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(modules, func(m api.Module) bool { return m.Digest == digest })
	if i < 0 {
		return nil, api.NewError(api.CodeModuleNotFound, "no module %.64s", digest)
	}
	return &modules[i], nil
}
