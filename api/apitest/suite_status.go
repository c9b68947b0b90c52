package apitest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api"
)

// world is a namespace with something of everything in it.
type world struct {
	*suite
	namespace string
	leased    *api.Task // by an external worker
	done      *api.Task // finished by an external worker
	record    uint64
	version   string // of the external behavior
}

const (
	worldExternal = "world.ext"
	worldWaits    = "world.waits"
	worldManifest = `{"schema":1,"behaviors":[{"name":"apitest.ok"},{"name":"world.op","operation":{}}]}`
)

// world fills a namespace.
func (s *suite) world(ctx context.Context, t *testing.T, name string) *world {
	t.Helper()
	w := &world{suite: s, namespace: name}
	s.put(ctx, t, name, worldExternal)
	push := pushRequest("", worldManifest, ModuleOK("world"))
	push.Namespace = name
	if _, err := s.Push(ctx, push); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"world-leased", "world-done"} {
		s.submitTo(ctx, t, name, worldExternal, id)
	}
	s.must(ctx, t, api.SubmitRequest{Namespace: name, Behavior: worldExternal, ID: worldWaits, NotBefore: after(1e13)})
	got := s.accept(ctx, t, api.AcceptRequest{Namespace: name, Behavior: worldExternal, Max: 2})
	if len(got) != 2 {
		t.Fatalf("accepted %d tasks, want 2", len(got))
	}
	w.leased, w.done = got[0], got[1]
	f, err := s.Finish(ctx, api.FinishRequest{Namespace: name, ID: w.done.ID, Token: w.done.Lease.Token, Result: json.RawMessage(`"ok"`)})
	if err != nil {
		t.Fatal(err)
	}
	w.done = f.Task
	w.record = s.storeUpdate(ctx, t, api.StoreUpdateRequest{Namespace: name, ClientID: alice, Adds: []api.StoreAdd{{Group: "g", Data: "x"}}})[0].ID
	d, err := s.Behavior(ctx, name, worldExternal)
	if err != nil {
		t.Fatal(err)
	}
	w.version = d.Version
	return w
}

// kind is what a call does to its namespace.
type kind string

const (
	reads    kind = "reads"    // shows what is there
	works    kind = "works"    // brings new work
	changes  kind = "changes"  // changes a definition, or asks that something be done again
	accepts  kind = "accepts"  // takes tasks to run
	reports  kind = "reports"  // reports on a lease
	removes  kind = "removes"  // cancels or deletes
	retries  kind = "retries"  // asks that a task be done again
	settings kind = "settings" // changes settings of the namespace
	imports  kind = "imports"
)

// request is one call about a namespace.
type request struct {
	name string
	kind kind
	do   func(ctx context.Context, w *world) error
}

// requests returns all calls of a Service that are about a namespace, in an order in which each can be done once.
func requests() []request {
	return slices.Concat(readingRequests(), workRequests(), changingRequests())
}

func readingRequests() []request {
	return []request{
		{"Namespace", reads, func(ctx context.Context, w *world) error { _, err := w.Namespace(ctx, w.namespace); return err }},
		{"Task", reads, func(ctx context.Context, w *world) error {
			_, err := w.Task(ctx, w.namespace, w.done.ID, api.GetOptions{})
			return err
		}},
		{"Tasks", reads, func(ctx context.Context, w *world) error {
			_, err := w.Tasks(ctx, api.ListRequest{Namespace: w.namespace})
			return err
		}},
		{"WaitTasks", reads, func(ctx context.Context, w *world) error {
			_, err := w.WaitTasks(ctx, api.WaitRequest{Namespace: w.namespace, IDs: []string{w.done.ID}})
			return err
		}},
		{"Logs", reads, func(ctx context.Context, w *world) error {
			_, err := w.Logs(ctx, w.namespace, w.done.ID, api.LogsGet{})
			return err
		}},
		{"Events", reads, func(ctx context.Context, w *world) error {
			stream, err := w.Events(ctx, api.EventsRequest{Namespace: w.namespace})
			if err == nil {
				stream.Close()
			}
			return err
		}},
		{"Modules", reads, func(ctx context.Context, w *world) error { _, err := w.Modules(ctx, w.namespace); return err }},
		{"Module", reads, func(ctx context.Context, w *world) error {
			_, err := w.Module(ctx, w.namespace, digest(ModuleOK("world")))
			return err
		}},
		{"Behaviors", reads, func(ctx context.Context, w *world) error { _, err := w.Behaviors(ctx, w.namespace); return err }},
		{"Behavior", reads, func(ctx context.Context, w *world) error {
			_, err := w.Behavior(ctx, w.namespace, worldExternal)
			return err
		}},
		{"BehaviorStats", reads, func(ctx context.Context, w *world) error {
			_, err := w.BehaviorStats(ctx, w.namespace, worldExternal)
			return err
		}},
		{"Operations", reads, func(ctx context.Context, w *world) error {
			_, err := w.Operations(ctx, api.OperationsRequest{Namespace: w.namespace})
			return err
		}},
		{"StoreGroups", reads, func(ctx context.Context, w *world) error { _, err := w.StoreGroups(ctx, w.namespace); return err }},
		{"StoreTasks", reads, func(ctx context.Context, w *world) error {
			_, err := w.StoreTasks(ctx, w.namespace, []uint64{w.record})
			return err
		}},
		{"StoreGroup", reads, func(ctx context.Context, w *world) error {
			_, err := w.StoreGroup(ctx, w.namespace, "g", 0, true)
			return err
		}},
		{"Export", reads, func(ctx context.Context, w *world) error { _, err := w.exported(ctx, w.namespace, false); return err }},
	}
}

func workRequests() []request {
	return []request{
		{"Submit", works, func(ctx context.Context, w *world) error {
			_, err := w.Submit(ctx, api.SubmitRequest{Namespace: w.namespace, Behavior: worldExternal})
			return err
		}},
		{"SubmitExisting", works, func(ctx context.Context, w *world) error {
			_, err := w.Submit(ctx, api.SubmitRequest{Namespace: w.namespace, Behavior: worldExternal, ID: w.done.ID})
			return err
		}},
		{"SubmitBatch", works, func(ctx context.Context, w *world) error {
			results, err := w.SubmitBatch(ctx, []api.SubmitRequest{{Namespace: w.namespace, Behavior: worldExternal}})
			if err == nil && results[0].Error != nil {
				err = results[0].Error
			}
			return err
		}},
		{"Resubmit", works, func(ctx context.Context, w *world) error {
			_, err := w.Resubmit(ctx, api.ResubmitRequest{Namespace: w.namespace, ID: w.done.ID, NotBefore: after(1e13)})
			return err
		}},
		{"Txn", works, func(ctx context.Context, w *world) error {
			_, err := w.Txn(ctx, api.TxnRequest{Namespace: w.namespace, Submit: []api.SubmitRequest{{Behavior: worldExternal}}})
			return err
		}},
		{"StartOperation", works, func(ctx context.Context, w *world) error {
			_, err := w.StartOperation(ctx, api.StartOperationRequest{Namespace: w.namespace, Behavior: "world.op", Partitions: some(1)})
			return err
		}},
		{"StoreUpdate", works, func(ctx context.Context, w *world) error {
			_, err := w.StoreUpdate(ctx, api.StoreUpdateRequest{Namespace: w.namespace, ClientID: alice, Adds: []api.StoreAdd{{Group: "g"}}})
			return err
		}},
		{"StoreClaim", works, func(ctx context.Context, w *world) error {
			_, err := w.StoreClaim(ctx, api.StoreClaimRequest{Namespace: w.namespace, ClientID: alice, Group: "g"})
			return err
		}},
	}
}

func changingRequests() []request {
	return []request{
		{"Push", changes, func(ctx context.Context, w *world) error {
			r := pushRequest("world.pushed", "", ModuleOK("world"))
			r.Namespace = w.namespace
			_, err := w.Push(ctx, r)
			return err
		}},
		{"PutBehavior", changes, func(ctx context.Context, w *world) error {
			_, err := w.PutBehavior(ctx, api.PutBehaviorRequest{Namespace: w.namespace, Name: "world.put", Policy: json.RawMessage(`{"kind":"external"}`)})
			return err
		}},
		{"ActivateVersion", changes, func(ctx context.Context, w *world) error {
			_, err := w.ActivateVersion(ctx, w.namespace, worldExternal, w.version)
			return err
		}},
		{"Retry", retries, func(ctx context.Context, w *world) error {
			_, err := w.Retry(ctx, api.RetryRequest{Namespace: w.namespace, ID: w.done.ID, NotBefore: after(1e13)})
			return err
		}},
		{"PauseBehavior", retries, func(ctx context.Context, w *world) error {
			_, err := w.PauseBehavior(ctx, w.namespace, worldExternal, false)
			return err
		}},
		{"Import", imports, func(ctx context.Context, w *world) error {
			_, err := w.ImportNamespace(ctx, api.ImportRequest{Name: w.namespace, Body: strings.NewReader(emptyExport)})
			return err
		}},
		{"UpdateNamespace", settings, func(ctx context.Context, w *world) error {
			_, err := w.UpdateNamespace(ctx, api.NamespaceSettings{Name: w.namespace, Quota: &api.Quota{MaxTasks: 1000}})
			return err
		}},

		{"Accept", accepts, func(ctx context.Context, w *world) error {
			_, err := w.Accept(ctx, api.AcceptRequest{Namespace: w.namespace, Behavior: worldExternal, Worker: "suite", Wait: duration(0)})
			return err
		}},
		{"Heartbeat", reports, func(ctx context.Context, w *world) error {
			_, err := w.Heartbeat(ctx, api.HeartbeatRequest{Namespace: w.namespace, ID: w.leased.ID, Token: w.leased.Lease.Token})
			return err
		}},
		{"Finish", reports, func(ctx context.Context, w *world) error {
			_, err := w.Finish(ctx, api.FinishRequest{Namespace: w.namespace, ID: w.leased.ID, Token: w.leased.Lease.Token})
			return err
		}},
		{"Cancel", removes, func(ctx context.Context, w *world) error {
			_, err := w.Cancel(ctx, w.namespace, worldWaits)
			return err
		}},
		{"Remove", removes, func(ctx context.Context, w *world) error { return w.Remove(ctx, w.namespace, worldWaits) }},
		{"DeleteBehavior", changes, func(ctx context.Context, w *world) error {
			return w.DeleteBehavior(ctx, w.namespace, okBehavior, false)
		}},
	}
}

// emptyExport is an export of an empty namespace.
const emptyExport = `{"header":{"format":1,"namespace":{"name":"x","status":"ACTIVE"}}}` + "\n" + `{"end":{}}` + "\n"

// exported reads an export to its end.
func (s *suite) exported(ctx context.Context, name string, raw bool) ([]byte, error) {
	r, err := s.ExportNamespace(ctx, api.ExportRequest{Name: name, Raw: raw})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var b bytes.Buffer
	_, err = io.Copy(&b, r)
	return b.Bytes(), err
}

// statuses checks what every call does in a namespace of every status (SPEC N1).
func (s *suite) statuses(ctx context.Context, t *testing.T) {
	s.namespace(ctx, t, "apitest-purged", api.Quota{})
	purged := s.world(ctx, t, "apitest-purged")
	// Else a purge would have to wait until the worker's lease ends.
	if _, err := s.Finish(ctx, api.FinishRequest{Namespace: purged.namespace, ID: purged.leased.ID, Token: purged.leased.Lease.Token}); err != nil {
		t.Fatal(err)
	}
	s.purged(ctx, t, purged.namespace)
	s.namespace(ctx, t, "apitest-inactive", api.Quota{})
	inactive := s.world(ctx, t, "apitest-inactive")
	s.status(ctx, t, inactive.namespace, api.NamespaceInactive)
	s.namespace(ctx, t, "apitest-purging", api.Quota{})
	purging := s.world(ctx, t, "apitest-purging")
	s.settled(ctx, t)
	defer s.pauseMaintenance(ctx, t)()
	s.status(ctx, t, purging.namespace, api.NamespacePurging)
	unknown, system := *purged, *inactive
	unknown.namespace, system.namespace = "apitest-unknown", "_system"
	const absent, inUse, reserved, gone = "namespace_not_found", "namespace_inactive", "namespace_reserved", "namespace_purging"
	for _, c := range []struct {
		w     *world
		codes map[kind]string // "": the call is done
		also  map[string]string
	}{
		{inactive, map[kind]string{works: inUse}, nil},
		{purging, map[kind]string{works: gone, changes: gone, retries: gone, imports: gone, settings: gone, accepts: gone}, nil},
		{purged, map[kind]string{
			reads: absent, works: absent, changes: absent, retries: absent, settings: absent, accepts: absent, reports: api.CodeHalt, removes: absent,
		}, map[string]string{"Namespace": "", "Import": ""}},
		{&unknown, map[kind]string{
			reads: absent, works: absent, changes: absent, retries: absent, settings: absent, accepts: absent, reports: api.CodeHalt, removes: absent,
		}, map[string]string{"Import": ""}},
		{&system, map[kind]string{works: reserved, changes: reserved, accepts: reserved, imports: reserved, settings: reserved}, map[string]string{
			"Task": api.CodeTaskNotFound, "WaitTasks": api.CodeTaskNotFound, "Logs": api.CodeTaskNotFound, "Module": api.CodeModuleNotFound, "Behavior": api.CodeBehaviorNotFound,
			"BehaviorStats": api.CodeBehaviorNotFound, "Retry": api.CodeTaskNotFound, "PauseBehavior": api.CodeBehaviorNotFound,
			"Heartbeat": api.CodeHalt, "Finish": api.CodeHalt, "Cancel": api.CodeTaskNotFound, "Remove": reserved,
		}},
	} {
		for _, r := range requests() {
			if r.kind == imports && c.codes[imports] == "" {
				continue // an import would make the namespace; see exportImport
			}
			want, own := c.also[r.name]
			if !own {
				want = c.codes[r.kind]
			}
			if err := r.do(ctx, c.w); api.CodeOf(err) != want {
				t.Errorf("%s in %s: %v, want code %q", r.name, c.w.namespace, err, want)
			}
		}
	}
	// A PURGED namespace may be made again, and has nothing of the former one.
	s.namespace(ctx, t, purged.namespace, api.Quota{})
	if _, err := s.Task(ctx, purged.namespace, purged.done.ID, api.GetOptions{}); api.CodeOf(err) != api.CodeTaskNotFound {
		t.Errorf("a task from before the purge: %v", err)
	}
	// An INACTIVE namespace goes on when it is ACTIVE again: tasks that waited are due.
	s.status(ctx, t, inactive.namespace, api.NamespaceActive)
	s.submitTo(ctx, t, inactive.namespace, worldExternal, "world-again")
}
