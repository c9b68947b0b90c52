package apitest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
)

// namespace makes a new namespace.
func (s *suite) namespace(ctx context.Context, t *testing.T, name string, q api.Quota) {
	t.Helper()
	n, err := s.CreateNamespace(ctx, api.NamespaceSettings{Name: name, Quota: &q})
	if err != nil {
		t.Fatalf("create %s: %v", name, err)
	}
	if n.Name != name || n.Status != api.NamespaceActive || n.Quota != q || n.Usage != (api.Usage{}) || n.Rev == 0 || n.CreatedAt == nil {
		t.Fatalf("created %+v", n)
	}
}

// status gives a namespace a status.
func (s *suite) status(ctx context.Context, t *testing.T, name, status string) *api.Namespace {
	t.Helper()
	n, err := s.SetNamespaceStatus(ctx, name, status)
	if err != nil || n.Status != status {
		t.Fatalf("make %s %s: %+v, %v", name, status, n, err)
	}
	return n
}

// purged purges a namespace to the end: it starts runs of maintenance until a run has found the namespace empty.
func (s *suite) purged(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	s.status(ctx, t, name, api.NamespacePurging)
	for {
		s.settled(ctx, t)
		started, err := s.StartMaintenance(ctx, api.MaintenanceRequest{})
		if err != nil && api.CodeOf(err) != "maintenance_running" {
			t.Fatal(err)
		}
		if err == nil {
			if run := s.maintained(ctx, t, started.Run); !run.Success {
				t.Fatalf("the run failed: %+v", run)
			}
		}
		n, err := s.Namespace(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		if n.Status == api.NamespacePurged {
			if n.Usage != (api.Usage{}) {
				t.Errorf("%s is PURGED and holds %+v", name, n.Usage)
			}
			return
		}
	}
}

func (s *suite) namespaces(ctx context.Context, t *testing.T) {
	all, err := s.Namespaces(ctx)
	if err != nil {
		t.Fatal(err)
	}
	byName := func(a, b api.Namespace) int { return strings.Compare(a.Name, b.Name) }
	if !slices.IsSortedFunc(all, byName) || all[0].Name != "_system" || !slices.ContainsFunc(all, func(n api.Namespace) bool {
		return n.Name == "default" && n.Status == "ACTIVE" && n.Usage.Behaviors > 0
	}) {
		t.Errorf("namespaces %+v, want _system and default among them, by name", all)
	}
	const name = "apitest-one"
	quota := api.Quota{MaxTasks: 10, MaxBytes: 1 << 40, SubmitsPerSecond: 7}
	s.namespace(ctx, t, name, quota)
	keep := api.NamespaceRetention{Success: api.Keep{For: api.Duration(90 * time.Minute)}, Failure: api.Keep{Never: true}, Count: 5}
	n, err := s.UpdateNamespace(ctx, api.NamespaceSettings{Name: name, Retention: &keep})
	if err != nil || n.Retention != keep || n.Quota != quota {
		t.Errorf("updated %+v, %v", n, err)
	}
	rev := n.Rev
	n, err = s.UpdateNamespace(ctx, api.NamespaceSettings{Name: name, Quota: &api.Quota{}})
	if err != nil || n.Retention != keep || n.Quota != (api.Quota{}) || n.Rev <= rev {
		t.Errorf("updated %+v, %v", n, err)
	}
	if again, err := s.UpdateNamespace(ctx, api.NamespaceSettings{Name: name, Quota: &api.Quota{}}); err != nil || again.Rev != n.Rev {
		t.Errorf("the same again: %+v, %v; want rev %d", again, err, n.Rev)
	}
	s.put(ctx, t, name, "apitest.ns")
	s.submitTo(ctx, t, name, "apitest.ns", "one")
	push := pushRequest(okBehavior, "", ModuleOK("namespaces"))
	push.Namespace = name
	if _, err := s.Push(ctx, push); err != nil {
		t.Fatal(err)
	}
	s.submitTo(ctx, t, name, okBehavior, "two")
	if x, err := s.Task(ctx, name, "two", api.GetOptions{Wait: patience}); err != nil || x.Status != "SUCCESS" {
		t.Errorf("a task that a node runs in a namespace of its own: %+v, %v", x, err)
	}
	// The same ID in another namespace names another task.
	if _, err := s.Task(ctx, "", "one", api.GetOptions{}); api.CodeOf(err) != api.CodeTaskNotFound {
		t.Errorf("a task of another namespace: %v", err)
	}
	if n, err := s.Namespace(ctx, name); err != nil || n.Usage.Tasks != 2 || n.Usage.Bytes < 2*int64(len(`{"n":1}`)) || n.Usage.Behaviors != 2 {
		t.Errorf("it holds %+v, %v", n, err)
	}
}

// put defines an external behavior in a namespace.
func (s *suite) put(ctx context.Context, t *testing.T, namespace, name string) {
	t.Helper()
	_, err := s.PutBehavior(ctx, api.PutBehaviorRequest{Namespace: namespace, Name: name, Policy: json.RawMessage(`{"kind":"external","lease":"1m"}`)})
	if err != nil {
		t.Fatal(err)
	}
}

func (s *suite) submitTo(ctx context.Context, t *testing.T, namespace, behavior, id string) *api.Task {
	t.Helper()
	return s.must(ctx, t, api.SubmitRequest{Namespace: namespace, Behavior: behavior, ID: id, Params: json.RawMessage(`{"n":1}`)})
}

func (s *suite) namespacesRefused(ctx context.Context, t *testing.T) {
	const name = "apitest-refused"
	s.namespace(ctx, t, name, api.Quota{})
	settings := func(n string) api.NamespaceSettings { return api.NamespaceSettings{Name: n} }
	create := func(n api.NamespaceSettings) error { _, err := s.CreateNamespace(ctx, n); return err }
	update := func(n api.NamespaceSettings) error { _, err := s.UpdateNamespace(ctx, n); return err }
	status := func(n, to string) error { _, err := s.SetNamespaceStatus(ctx, n, to); return err }
	bad := settings(name)
	bad.Quota = &api.Quota{MaxTasks: -1}
	count := settings(name)
	count.Retention = &api.NamespaceRetention{Count: -1}
	_, unknown := s.Namespace(ctx, "apitest-nobody")
	_, short := s.Namespace(ctx, strings.Repeat("x", 65))
	for _, c := range []struct {
		what, code, field string
		err               error
	}{
		{"create twice", "namespace_exists", "name", create(settings(name))},
		{"create default", "namespace_exists", "name", create(settings("default"))},
		{"no name", "invalid_field", "name", create(settings(""))},
		{"upper case", "invalid_field", "name", create(settings("Apitest"))},
		{"too short", "invalid_field", "name", create(settings("ab"))},
		{"too long", "invalid_field", "name", create(settings(strings.Repeat("x", 65)))},
		{"begins with a digit", "invalid_field", "name", create(settings("1abc"))},
		{"reserved", "namespace_reserved", "name", create(settings("_mine"))},
		{"negative quota", "invalid_field", "quota.max_tasks", update(bad)},
		{"negative count", "invalid_field", "retention.count", update(count)},
		{"get unknown", "namespace_not_found", "namespace", unknown},
		{"get a name that none has", "invalid_field", "name", short},
		{"update unknown", "namespace_not_found", "namespace", update(settings("apitest-nobody"))},
		{"update _system", "namespace_reserved", "name", update(settings("_system"))},
		{"status of unknown", "namespace_not_found", "namespace", status("apitest-nobody", "INACTIVE")},
		{"status of _system", "namespace_reserved", "name", status("_system", "INACTIVE")},
		{"purge default", "namespace_reserved", "name", status("default", "PURGING")},
		{"a status that nobody gives", "invalid_field", "status", status(name, "PURGED")},
	} {
		if api.CodeOf(c.err) != c.code {
			t.Errorf("%s: %v, want code %s", c.what, c.err, c.code)
			continue
		}
		wantError(t, c.err, c.code, fieldOr(c.err, c.field))
	}
}

// quotas: a request beyond a quota is refused with a 429 that names the quota, and what is there is left alone (SPEC N1).
func (s *suite) quotas(ctx context.Context, t *testing.T) {
	const name, behavior = "apitest-quota", "apitest.ns"
	s.namespace(ctx, t, name, api.Quota{MaxTasks: 3})
	s.put(ctx, t, name, behavior)
	rs := make([]api.SubmitRequest, 5)
	for i := range rs {
		rs[i] = api.SubmitRequest{Namespace: name, Behavior: behavior}
	}
	results, err := s.SubmitBatch(ctx, rs)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if i < 3 && r.Error != nil {
			t.Errorf("task %d: %v", i, r.Error)
		}
		if i >= 3 {
			wantQuota(t, r.Error, "max_tasks", 3)
		}
	}
	if again, err := s.Submit(ctx, api.SubmitRequest{Namespace: name, Behavior: behavior, ID: results[0].Task.ID}); err != nil || again.Outcome != "existing" {
		t.Errorf("a submit that joins takes nothing: %+v, %v", again, err)
	}
	one := api.SubmitRequest{Namespace: name, Behavior: behavior, Params: json.RawMessage(`"0123456789"`)}
	_, err = s.Txn(ctx, api.TxnRequest{Namespace: name, Submit: []api.SubmitRequest{one}})
	wantQuota(t, err, "max_tasks", 3)
	// A removed task makes room, also within one transaction.
	_, err = s.Txn(ctx, api.TxnRequest{Namespace: name, Submit: []api.SubmitRequest{one}, Delete: []api.TxnDelete{{ID: results[0].Task.ID, Rev: results[0].Task.Rev}}})
	if err != nil {
		t.Errorf("one goes and one comes: %v", err)
	}
	s.quota(ctx, t, name, api.Quota{MaxBytes: 20})
	_, err = s.Submit(ctx, one)
	wantQuota(t, err, "max_bytes", 20)
	_, err = s.StoreUpdate(ctx, api.StoreUpdateRequest{Namespace: name, ClientID: alice, Adds: []api.StoreAdd{{Group: "g", Data: "0123456789"}}})
	wantQuota(t, err, "max_bytes", 20)
	// A refusal is not kept under a key: the same request is done when there is room.
	key := keyed(ctx, "quota", 1)
	_, err = s.Submit(key, one)
	wantQuota(t, err, "max_bytes", 20)
	s.quota(ctx, t, name, api.Quota{MaxBytes: 100})
	made, err := s.Submit(key, one)
	if err != nil || made.Outcome != "created" {
		t.Errorf("with room again: %+v, %v", made, err)
	}
	s.quota(ctx, t, name, api.Quota{MaxBytes: 1})
	if again, err := s.Submit(key, one); err != nil || again.Task.ID != made.Task.ID {
		t.Errorf("the same again: %+v, %v; want what was done", again, err)
	}
}

func (s *suite) quota(ctx context.Context, t *testing.T, name string, q api.Quota) {
	t.Helper()
	if n, err := s.UpdateNamespace(ctx, api.NamespaceSettings{Name: name, Quota: &q}); err != nil || n.Quota != q {
		t.Fatalf("quota of %s: %+v, %v", name, n, err)
	}
}

// wantQuota checks that an error is about a quota, and says which quota, how much it is, and when to ask again.
func wantQuota(t *testing.T, err error, quota string, limit int64) {
	t.Helper()
	wantError(t, err, api.CodeQuotaExceeded, quota)
	if e, _ := errors.AsType[*api.Error](err); e.Limit != limit || e.RetryMS <= 0 || !strings.Contains(e.Detail, quota) {
		t.Errorf("error %+v, want limit %d and a time to retry after", e, limit)
	}
}

// submitRate: a namespace may have a second's worth of submits at once, and then as many per second as its quota says.
func (s *suite) submitRate(ctx context.Context, t *testing.T) {
	const name, behavior, rate = "apitest-rate", "apitest.ns", 4
	s.namespace(ctx, t, name, api.Quota{})
	s.put(ctx, t, name, behavior)
	s.quota(ctx, t, name, api.Quota{SubmitsPerSecond: rate})
	begun, made := time.Now(), 0
	var refused error
	for refused == nil {
		_, err := s.Submit(ctx, api.SubmitRequest{Namespace: name, Behavior: behavior})
		if refused = err; err == nil {
			made++
		}
	}
	wantQuota(t, refused, "submits_per_second", rate)
	if most := rate + int(rate*time.Since(begun)/time.Second) + 1; made < rate || made > most {
		t.Errorf("%d submits at once, want %d to %d", made, rate, most)
	}
	// A flood leaves no trace in the log.
	before, after := s.logged(ctx, t), int64(0)
	for range 50 {
		if _, err := s.Submit(ctx, api.SubmitRequest{Namespace: name, Behavior: behavior}); err == nil {
			after++
		}
	}
	if grown := s.logged(ctx, t) - before; after < 40 && grown > 30+uint64(after)*3 {
		t.Errorf("%d of 50 submits passed, and the log grew by %d entries", after, grown)
	}
	// There is room again after a second at most, also if nothing else is written.
	for deadline := time.Now().Add(patience); ; {
		_, err := s.Submit(ctx, api.SubmitRequest{Namespace: name, Behavior: behavior})
		if err == nil {
			return
		}
		wantQuota(t, err, "submits_per_second", rate)
		if time.Now().After(deadline) {
			t.Fatal("the rate is never there again")
		}
		e, _ := errors.AsType[*api.Error](err)
		timer := time.NewTimer(time.Duration(e.RetryMS) * time.Millisecond)
		<-timer.C
	}
}

// logged returns the highest index of the log that a node has applied.
func (s *suite) logged(ctx context.Context, t *testing.T) uint64 {
	t.Helper()
	c, err := s.Cluster(ctx)
	if err != nil {
		t.Fatal(err)
	}
	most := uint64(0)
	for _, n := range c.Nodes {
		most = max(most, n.AppliedIndex)
	}
	return most
}
