package apitest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
)

func (s *suite) putBehavior(ctx context.Context, t *testing.T) {
	const name = "apitest.put"
	put := func(policy string) *api.PutBehaviorReply {
		t.Helper()
		reply, err := s.PutBehavior(ctx, api.PutBehaviorRequest{Name: name, Policy: json.RawMessage(policy)})
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	first := put(`{"kind":"external","lease":"10s"}`)
	if b := first.Behavior; !first.Created || b.Name != name || b.Kind != "external" || b.Module != "" || b.Paused || len(b.Versions) != 1 || !b.Versions[0].Active {
		t.Errorf("put %+v", first)
	}
	if again := put(`{ "lease" : "10s", "kind" : "external" }`); again.Created || again.Behavior.Version != first.Behavior.Version {
		t.Errorf("the same again: %+v", again)
	}
	second := put(`{"kind":"external","lease":"20s"}`)
	if b := second.Behavior; second.Created || b.Version == first.Behavior.Version || len(b.Versions) != 2 || b.Versions[0].Version != b.Version {
		t.Errorf("another policy: %+v", second)
	}
	all, err := s.Behaviors(ctx, "")
	if err != nil || !slices.ContainsFunc(all, func(b api.Behavior) bool { return b.Name == name && b.Kind == "external" }) {
		t.Errorf("behaviors %+v, %v", all, err)
	}
	// This is a rollback.
	b, err := s.ActivateVersion(ctx, "", name, first.Behavior.Version)
	if err != nil || b.Version != first.Behavior.Version {
		t.Errorf("activate: %+v, %v", b, err)
	}
	if got, err := s.Behavior(ctx, "", name); err != nil || got.Version != first.Behavior.Version || len(got.Versions) != 2 {
		t.Errorf("after the rollback: %+v, %v", got, err)
	}
	_, err = s.ActivateVersion(ctx, "", name, strings.Repeat("0", 64))
	wantError(t, err, "version_not_found", fieldOf(err))
	_, err = s.ActivateVersion(ctx, "", "apitest.nobody", first.Behavior.Version)
	wantError(t, err, "behavior_not_found", fieldOf(err))
}

func (s *suite) putRefused(ctx context.Context, t *testing.T) {
	put := func(name, policy string) error {
		_, err := s.PutBehavior(ctx, api.PutBehaviorRequest{Name: name, Policy: json.RawMessage(policy)})
		return err
	}
	for _, policy := range []string{
		``, `{`, `[]`, `{}`, `{"kind":"wasm"}`, `{"kind":"external","colour":"red"}`, `{"kind":"external","lease":5}`,
		`{"kind":"external","max_concurrent":"many"}`,
	} {
		if err := put("apitest.bad", policy); !isError(err, "invalid_json") && !isError(err, "invalid_field") && !isError(err, "unknown_field") {
			t.Errorf("%s: %v", policy, err)
		}
	}
	_, err := s.Behavior(ctx, "", "apitest.bad")
	wantError(t, err, "behavior_not_found", fieldOf(err))
	wantError(t, put("A B", `{"kind":"external"}`), "invalid_field", "name")
	err = put(okBehavior, `{"kind":"external"}`)
	wantError(t, err, "other_kind", fieldOf(err))
	s.external(ctx, t, "apitest.outside", "")
	_, err = s.Push(ctx, pushRequest("apitest.outside", "", ModuleOK("outside")))
	wantError(t, err, "other_kind", fieldOf(err))
	_, err = s.PutBehavior(ctx, api.PutBehaviorRequest{Namespace: "nowhere", Name: "apitest.bad", Policy: json.RawMessage(`{"kind":"external"}`)})
	wantError(t, err, "namespace_not_found", fieldOf(err))
}

func (s *suite) pause(ctx context.Context, t *testing.T) {
	const name = "apitest.pause"
	s.external(ctx, t, name, "")
	b, err := s.PauseBehavior(ctx, "", name, true)
	if err != nil || !b.Paused {
		t.Fatalf("pause: %+v, %v", b, err)
	}
	s.must(ctx, t, api.SubmitRequest{Behavior: name, ID: "paused-1"})
	s.must(ctx, t, api.SubmitRequest{Behavior: name, ID: "paused-2", Delay: duration(time.Hour)})
	s.none(ctx, t, name)
	stats, err := s.BehaviorStats(ctx, "", name)
	if err != nil || stats.Due != 1 || stats.Delayed != 1 || stats.Running != 0 || stats.Oldest == nil {
		t.Errorf("stats %+v, %v", stats, err)
	}
	if b, err = s.PauseBehavior(ctx, "", name, false); err != nil || b.Paused {
		t.Fatalf("resume: %+v, %v", b, err)
	}
	x := s.acceptOne(ctx, t, name)
	if stats, err = s.BehaviorStats(ctx, "", name); err != nil || stats.Due != 0 || stats.Running != 1 || stats.Oldest != nil {
		t.Errorf("stats %+v, %v", stats, err)
	}
	retry := &api.ReportError{Code: "later"}
	if _, err := s.Finish(ctx, api.FinishRequest{ID: x.ID, Token: x.Lease.Token, Error: retry, AgainAt: after(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if stats, err = s.BehaviorStats(ctx, "", name); err != nil || stats.Retrying != 1 || stats.Running != 0 || stats.Delayed != 1 {
		t.Errorf("stats %+v, %v", stats, err)
	}
	_, err = s.PauseBehavior(ctx, "", "apitest.nobody", true)
	wantError(t, err, "behavior_not_found", fieldOf(err))
	_, err = s.BehaviorStats(ctx, "", "apitest.nobody")
	wantError(t, err, "behavior_not_found", fieldOf(err))
}

func (s *suite) deleteBehavior(ctx context.Context, t *testing.T) {
	const name = "apitest.delete"
	s.external(ctx, t, name, "")
	x := s.run(ctx, t, name, "deleted-running")
	s.must(ctx, t, api.SubmitRequest{Behavior: name, ID: "deleted-waiting"})
	if err := s.DeleteBehavior(ctx, "", name, false); err != nil {
		t.Fatal(err)
	}
	_, err := s.Behavior(ctx, "", name)
	wantError(t, err, "behavior_not_found", fieldOf(err))
	_, err = s.Submit(ctx, api.SubmitRequest{Behavior: name})
	wantError(t, err, "behavior_not_found", "behavior")
	err = s.DeleteBehavior(ctx, "", name, false)
	wantError(t, err, "behavior_not_found", fieldOf(err))
	// Running tasks may finish. Waiting tasks wait for another behavior of this name.
	if _, err := s.Finish(ctx, api.FinishRequest{ID: x.ID, Token: x.Lease.Token}); err != nil {
		t.Errorf("finish after the deletion: %v", err)
	}
	if got, err := s.Task(ctx, "", "deleted-waiting", api.GetOptions{}); err != nil || got.Status != "CREATED" {
		t.Errorf("waiting: %+v, %v", got, err)
	}
	s.external(ctx, t, name, "")
	if got := s.acceptOne(ctx, t, name); got.ID != "deleted-waiting" {
		t.Errorf("accepted %s", got.ID)
	}
	// A purge also removes the tasks. Whoever waits for one of them is told.
	s.must(ctx, t, api.SubmitRequest{Behavior: name, ID: "purged"})
	if err := s.DeleteBehavior(ctx, "", name, true); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Task(ctx, "", "purged", api.GetOptions{Wait: patience}); !isError(err, "removed") && !isError(err, "task_not_found") {
		t.Errorf("a task of a purged behavior: %v", err)
	}
	err = s.DeleteBehavior(ctx, "", "apitest.nobody", true)
	wantError(t, err, "behavior_not_found", fieldOf(err))
}

func (s *suite) drain(ctx context.Context, t *testing.T) {
	c, err := s.Cluster(ctx)
	if err != nil {
		t.Fatal(err)
	}
	node := c.Nodes[0].ID
	drained := func(want bool) {
		t.Helper()
		n, err := s.Drain(ctx, node, want)
		if err != nil || n.ID != node || n.Drained != want {
			t.Fatalf("drain %v: %+v, %v", want, n, err)
		}
		workers, err := s.Workers(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range workers {
			if w.Kind != "session" && w.Kind != "external" || w.Node == node && w.Drained != want || w.Node != node && w.Drained {
				t.Errorf("worker %+v while %s is drained: %v", w, node, want)
			}
		}
	}
	drained(true)
	drained(true)
	drained(false)
	x := s.must(ctx, t, api.SubmitRequest{Behavior: okBehavior, ID: "after-drain"})
	if done := s.final(ctx, t, x.ID); done.Status != "SUCCESS" {
		t.Errorf("after the drain %+v", done)
	}
	_, err = s.Drain(ctx, "nobody", true)
	wantError(t, err, "member_not_found", fieldOf(err))
	_, err = s.Drain(ctx, "", true)
	wantError(t, err, "invalid_field", "id")
}
