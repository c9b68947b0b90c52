// Package apitest is the conformance suite of api.Service: every implementation, in-process or behind HTTP, passes Run.
package apitest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
)

// patience bounds every wait of the suite. Only on a very busy machine does anything take so long.
const patience = 60 * time.Second

// suite is one run against one Service.
type suite struct {
	api.Service
}

// Run runs the suite against one Service, which start makes.
func Run(t *testing.T, start func(t *testing.T) api.Service) {
	t.Helper()
	s := &suite{start(t)}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s.pushAll(ctx, t)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			c.test(s, ctx, t)
		})
	}
}

// cases are the suite's tests, in their order.
var cases = []struct {
	name string
	test func(*suite, context.Context, *testing.T)
}{
	{"Push", (*suite).push},
	{"PushRefused", (*suite).pushRefused},
	{"Behaviors", (*suite).behaviors},
	{"Submit", (*suite).submit},
	{"IfExists", (*suite).ifExists},
	{"DeterministicID", (*suite).deterministicID},
	{"ConcurrentEqualSubmits", (*suite).concurrentEqualSubmits},
	{"SubmitRefused", (*suite).submitRefused},
	{"Batch", (*suite).batch},
	{"BatchTooLong", (*suite).batchTooLong},
	{"Minimal", (*suite).minimal},
	{"SubmitAndWait", (*suite).submitAndWait},
	{"Failure", (*suite).failure},
	{"Wait", (*suite).wait},
	{"WaitUntil", (*suite).waitUntil},
	{"WaitTasks", (*suite).waitTasks},
	{"WaitTasksRefused", (*suite).waitTasksRefused},
	{"Events", (*suite).events},
	{"EventsReset", (*suite).eventsReset},
	{"EventsRefused", (*suite).eventsRefused},
	{"Delay", (*suite).delay},
	{"Cancel", (*suite).cancel},
	{"CancelWaiting", (*suite).cancelWaiting},
	{"Remove", (*suite).remove},
	{"List", (*suite).listFilters},
	{"ListOrders", (*suite).listOrders},
	{"ListRefused", (*suite).listRefused},
	{"Logs", (*suite).logs},
	{"NotThere", (*suite).notThere},
	{"Bytes", (*suite).bytes},
	{"Index", (*suite).index},
	{"Cluster", (*suite).cluster},
	{"PutBehavior", (*suite).putBehavior},
	{"PutRefused", (*suite).putRefused},
	{"Pause", (*suite).pause},
	{"DeleteBehavior", (*suite).deleteBehavior},
	{"Drain", (*suite).drain},
	{"Accept", (*suite).acceptTasks},
	{"AcceptEarly", (*suite).acceptEarly},
	{"AcceptRefused", (*suite).acceptRefused},
	{"Heartbeat", (*suite).heartbeat},
	{"NotExternal", (*suite).notExternal},
	{"LeaseLost", (*suite).leaseLost},
	{"CancelExternal", (*suite).cancelExternal},
	{"Limits", (*suite).limits},
	{"Finish", (*suite).finish},
	{"FinishError", (*suite).finishError},
	{"FinishProgress", (*suite).finishProgress},
	{"FinishRefused", (*suite).finishRefused},
	{"FinishMany", (*suite).finishMany},
	{"Fuel", (*suite).fuel},
	{"Snooze", (*suite).snooze},
	{"Retry", (*suite).retry},
	{"Repin", (*suite).repin},
	{"Traces", (*suite).traces},
	{"Resubmit", (*suite).resubmit},
	{"Once", (*suite).once},
	{"Txn", (*suite).txn},
	{"TxnConflict", (*suite).txnConflict},
	{"TxnRefused", (*suite).txnRefused},
	{"Operation", (*suite).operation},
	{"OperationFails", (*suite).operationFails},
	{"OperationExcludes", (*suite).operationExcludes},
	{"OperationCancel", (*suite).operationCancel},
	{"OperationTasks", (*suite).operationTasks},
	{"OperationList", (*suite).operationList},
	{"OperationWait", (*suite).operationWait},
	{"OperationRefused", (*suite).operationRefused},
	{"OperationOnce", (*suite).operationOnce},
	{"OperationEvents", (*suite).operationEvents},
	{"Blobs", (*suite).blobs},
	{"BlobRanges", (*suite).blobRanges},
	{"BlobsRefused", (*suite).blobsRefused},
	{"Payloads", (*suite).payloads},
	{"PayloadsAreContent", (*suite).payloadsAreContent},
	{"PayloadsOfWorkers", (*suite).payloadsOfWorkers},
	{"PayloadsOfOperations", (*suite).payloadsOfOperations},
	{"PayloadsRefused", (*suite).payloadsRefused},
	{"Maintenance", (*suite).maintenance},
	{"MaintenanceRefused", (*suite).maintenanceRefused},
	{"TaskStore", (*suite).taskStore},
	{"TaskStoreClaims", (*suite).taskStoreClaims},
	{"TaskStoreRefused", (*suite).taskStoreRefused},
	{"TaskStoreContention", (*suite).taskStoreContention},
	{"Namespaces", (*suite).namespaces},
	{"NamespacesRefused", (*suite).namespacesRefused},
	{"NamespaceStatuses", (*suite).statuses},
	{"Quotas", (*suite).quotas},
	{"SubmitRate", (*suite).submitRate},
	{"ExportImport", (*suite).exportImport},
	{"ExportRaw", (*suite).exportRaw},
	{"ImportRehash", (*suite).importRehash},
	{"ImportRefused", (*suite).importRefused},
}

// These are the behaviors of the suite.
const (
	okBehavior   = "apitest.ok"
	failBehavior = "apitest.fail"
	spinBehavior = "apitest.spin"
	hashBehavior = "apitest.hash"
)

const (
	spinManifest = `{"schema":1,"behaviors":[{"name":"apitest.spin","cancel_grace":"50ms"}]}`
	hashManifest = `{"schema":1,"behaviors":[{"name":"apitest.hash","id":{"strategy":"params"}}]}`
)

func (s *suite) pushAll(ctx context.Context, t *testing.T) {
	t.Helper()
	for _, r := range []struct {
		name, manifest string
		wasm           []byte
	}{
		{okBehavior, "", ModuleOK("")},
		{failBehavior, "", ModuleFail("")},
		{"", spinManifest, ModuleSpin("")},
		{"", hashManifest, ModuleOK("hash")},
	} {
		if _, err := s.Push(ctx, pushRequest(r.name, r.manifest, r.wasm)); err != nil {
			t.Fatalf("push %s%s: %v", r.name, r.manifest, err)
		}
	}
}

func pushRequest(name, manifest string, wasm []byte) api.PushRequest {
	r := api.PushRequest{Name: name, Wasm: bytes.NewReader(wasm), Size: int64(len(wasm))}
	if manifest != "" {
		r.Manifest = json.RawMessage(manifest)
	}
	return r
}

// must submits a task. The submit must create it.
func (s *suite) must(ctx context.Context, t *testing.T, r api.SubmitRequest) *api.Task {
	t.Helper()
	reply, err := s.Submit(ctx, r)
	if err != nil {
		t.Fatalf("submit %+v: %v", r, err)
	}
	if reply.Outcome != "created" {
		t.Fatalf("submit %+v: outcome %s, want created", r, reply.Outcome)
	}
	return reply.Task
}

// until waits for a condition. The test fails if the wait ends without it.
func (s *suite) until(ctx context.Context, t *testing.T, id, until string) *api.Task {
	t.Helper()
	got, err := s.Task(ctx, "", id, api.GetOptions{Wait: patience, Until: until})
	if err != nil {
		t.Fatalf("wait for %s until %q: %v", id, until, err)
	}
	return got
}

// final waits for the final state of a task.
func (s *suite) final(ctx context.Context, t *testing.T, id string) *api.Task {
	t.Helper()
	got := s.until(ctx, t, id, "")
	if !got.Final {
		t.Fatalf("task %s is not final at the end of the wait: %s", id, got.Status)
	}
	return got
}

// wantError checks the code of an error, the field that the error names, and that the status is the code's.
func wantError(t *testing.T, err error, code, field string) {
	t.Helper()
	e, ok := errors.AsType[*api.Error](err)
	if !ok {
		t.Fatalf("error %v, want an *api.Error with code %s", err, code)
	}
	if e.Code != code || e.Field != field {
		t.Fatalf("error %+v, want code %s for field %q", e, code, field)
	}
	if want := api.NewError(code, "").Status; e.Status != want {
		t.Fatalf("error %+v, want status %d", e, want)
	}
}

func (s *suite) push(ctx context.Context, t *testing.T) {
	wasm := ModuleOK("push")
	m, err := s.Push(ctx, pushRequest("apitest.push", "", wasm))
	if err != nil {
		t.Fatal(err)
	}
	if m.Digest != digest(wasm) || m.Size != int64(len(wasm)) {
		t.Errorf("module %+v, want digest %s and size %d", m, digest(wasm), len(wasm))
	}
	if len(m.Behaviors) != 1 || m.Behaviors[0].Name != "apitest.push" || !m.Behaviors[0].Active || m.Behaviors[0].Version != m.Version {
		t.Errorf("behaviors %+v, want apitest.push, active, of version %s", m.Behaviors, m.Version)
	}
	again, err := s.Push(ctx, pushRequest("apitest.push", "", wasm))
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(*again) != fmt.Sprint(*m) {
		t.Errorf("the same again: %+v, want %+v", again, m)
	}
	all, err := s.Modules(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(all, func(x api.Module) bool { return x.Digest == m.Digest }) {
		t.Errorf("module %s is not in %+v", m.Digest, all)
	}
	one, err := s.Module(ctx, "", m.Digest)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(*one) != fmt.Sprint(*m) {
		t.Errorf("module %+v, want %+v", one, m)
	}
	other, err := s.Push(ctx, pushRequest("apitest.push", "", ModuleOK("push2")))
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Behavior(ctx, "", "apitest.push")
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Versions) != 2 || !b.Versions[0].Active || b.Versions[0].Version != other.Version || b.Versions[1].Active {
		t.Errorf("versions %+v, want %s, active, before %s", b.Versions, other.Version, m.Version)
	}
}

func (s *suite) pushRefused(ctx context.Context, t *testing.T) {
	before, err := s.Behaviors(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	noRun := bytes.Replace(ModuleOK(""), []byte("taskrt_run"), []byte("taskrt_fun"), 1)
	for name, r := range map[string]api.PushRequest{
		"empty":                   pushRequest("apitest.bad", "", nil),
		"not wasm":                pushRequest("apitest.bad", "", []byte("#!/bin/sh\n")),
		"no run export":           pushRequest("apitest.bad", "", noRun),
		"no name":                 pushRequest("", "", ModuleOK("")),
		"bad name":                pushRequest("A B", "", ModuleOK("")),
		"manifest no JSON":        pushRequest("", `{`, ModuleOK("")),
		"manifest unknown":        pushRequest("", `{"schema":1,"behaviors":[{"name":"apitest.bad","colour":"red"}]}`, ModuleOK("")),
		"too large":               {Name: "apitest.bad", Wasm: bytes.NewReader(make([]byte, api.MaxModule+1)), Size: api.MaxModule + 1},
		"too large, size unknown": {Name: "apitest.bad", Wasm: bytes.NewReader(make([]byte, api.MaxModule+1)), Size: -1},
	} {
		_, err := s.Push(ctx, r)
		e, ok := errors.AsType[*api.Error](err)
		if !ok || e.Status < 400 || e.Status >= 500 || e.Code == "" || e.Detail == "" {
			t.Errorf("%s: %+v, want a 4xx that says what is wrong", name, err)
		}
	}
	after, err := s.Behaviors(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("refused uploads changed the behaviors from %+v to %+v", before, after)
	}
}

func (s *suite) behaviors(ctx context.Context, t *testing.T) {
	all, err := s.Behaviors(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.IsSortedFunc(all, func(a, b api.Behavior) int { return strings.Compare(a.Name, b.Name) }) {
		t.Errorf("behaviors are not sorted by name: %+v", all)
	}
	for _, name := range []string{okBehavior, failBehavior, spinBehavior, hashBehavior} {
		if !slices.ContainsFunc(all, func(b api.Behavior) bool { return b.Name == name && b.Kind == "wasm" && b.Version != "" }) {
			t.Errorf("behavior %s is not in %+v", name, all)
		}
	}
	d, err := s.Behavior(ctx, "default", spinBehavior)
	if err != nil {
		t.Fatal(err)
	}
	if d.Name != spinBehavior || d.Module != digest(ModuleSpin("")) || len(d.Versions) != 1 || !d.Versions[0].Active || !json.Valid(d.Manifest) {
		t.Errorf("behavior %+v", d)
	}
}

func (s *suite) cluster(ctx context.Context, t *testing.T) {
	c, err := s.Cluster(ctx)
	if err != nil {
		t.Fatal(err)
	}
	leads := func(n api.Node) bool {
		return n.ID == c.Leader && n.Role == "leader" && n.Reachable && n.AppliedIndex > 0 && n.Digest != ""
	}
	if c.Leader == "" || !slices.ContainsFunc(c.Nodes, leads) {
		t.Errorf("cluster %+v, want a leader among the nodes", c)
	}
	if len(c.Workers) == 0 || c.Workers[0].Slots <= 0 {
		t.Errorf("workers %+v", c.Workers)
	}
	if c.Tasks.Success == 0 || c.Tasks.Failure == 0 {
		t.Errorf("totals %+v, want the suite's tasks in them", c.Tasks)
	}
	if err := s.Ready(ctx); err != nil {
		t.Errorf("not ready: %v", err)
	}
}
