package apitest

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
)

func asError(err error, e **api.Error) bool { return errors.As(err, e) }

// deterministicID computes an ID as SPEC I2 says, independently of the product.
func deterministicID(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		_ = binary.Write(h, binary.BigEndian, uint32(len(p)))
		h.Write([]byte(p))
	}
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(h.Sum(nil)[:20]))
}

func (s *suite) wait(ctx context.Context, t *testing.T) {
	spin := s.must(ctx, t, api.SubmitRequest{Behavior: spinBehavior, ID: "wait-spin"})
	if got := s.until(ctx, t, spin.ID, "running"); got.Status != "RUNNING" || got.Lease == nil || got.Lease.Token == 0 || got.Result != nil {
		t.Fatalf("until running: %+v", got)
	}
	// The end of a wait is an answer, not an error.
	got, err := s.Task(ctx, "", spin.ID, api.GetOptions{Wait: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if got.Final || got.Status != "RUNNING" {
		t.Errorf("after the wait: %+v", got)
	}
	gone, cancel := context.WithCancel(ctx)
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := s.Task(gone, "", spin.ID, api.GetOptions{Wait: patience}); err == nil {
		t.Error("a wait whose caller has gone returns no error")
	}
	// One cancel releases several waiters.
	released := make(chan string, 3)
	for range cap(released) {
		go func() {
			got, err := s.Task(ctx, "", spin.ID, api.GetOptions{Wait: patience})
			if err != nil {
				released <- err.Error()
				return
			}
			released <- fmt.Sprint(got.Status, " ", got.Final)
		}()
	}
	if _, err := s.Cancel(ctx, "", spin.ID); err != nil {
		t.Fatal(err)
	}
	for range cap(released) {
		if r := <-released; r != "FAILURE true" {
			t.Errorf("a waiter got %q", r)
		}
	}
}

func (s *suite) waitUntil(ctx context.Context, t *testing.T) {
	created := s.must(ctx, t, api.SubmitRequest{Behavior: okBehavior, ID: "wait-until"})
	if got := s.until(ctx, t, created.ID, fmt.Sprintf("rev:%d", created.Rev+1)); got.Rev <= created.Rev {
		t.Errorf("until rev:%d: rev %d", created.Rev+1, got.Rev)
	}
	if got := s.until(ctx, t, created.ID, "attempt:1"); got.Attempt != 1 || got.Status == "RUNNING" {
		t.Errorf("until attempt:1: %+v", got)
	}
	// A final state ends every wait.
	s.final(ctx, t, created.ID)
	for _, until := range []string{"running", "waiting", "failure", "success", "attempt:9", "rev:999999999"} {
		if got := s.until(ctx, t, created.ID, until); !got.Final {
			t.Errorf("until %s of a final task: %+v", until, got)
		}
	}
	got, err := s.Task(ctx, "", created.ID, api.GetOptions{Wait: patience, Until: "success", Since: created.Rev})
	if err != nil || got.Status != "SUCCESS" || got.Rev <= created.Rev {
		t.Errorf("until success since %d: %+v, %v", created.Rev, got, err)
	}
	for _, bad := range []string{"done", "rev", "rev:", "rev:x", "attempt:-1", "final:1", "rev:1:2"} {
		_, err := s.Task(ctx, "", created.ID, api.GetOptions{Wait: time.Second, Until: bad})
		wantError(t, err, "invalid_field", "until")
	}
}

func (s *suite) delay(ctx context.Context, t *testing.T) {
	hour := api.Duration(time.Hour)
	created := s.must(ctx, t, api.SubmitRequest{Behavior: okBehavior, ID: "delay-one", Delay: &hour})
	if created.Status != "CREATED" || created.NotBefore == nil || created.NotBefore.Before(created.CreatedAt.Add(time.Hour)) {
		t.Errorf("delayed %+v", created)
	}
	if got := s.until(ctx, t, created.ID, "waiting"); got.Status != "CREATED" {
		t.Errorf("until waiting: %+v", got)
	}
	// A resubmit without a time means now.
	reply, err := s.Submit(ctx, api.SubmitRequest{Behavior: okBehavior, ID: created.ID, IfExists: "resubmit"})
	if err != nil || reply.Outcome != "updated" {
		t.Fatalf("resubmit: %+v, %v", reply, err)
	}
	if done := s.final(ctx, t, created.ID); done.Status != "SUCCESS" {
		t.Errorf("after resubmit %+v", done)
	}
	soon := api.Duration(50 * time.Millisecond)
	short := s.must(ctx, t, api.SubmitRequest{Behavior: okBehavior, ID: "delay-two", Delay: &soon})
	if done := s.final(ctx, t, short.ID); done.StartedAt.Before(short.NotBefore.Time) {
		t.Errorf("started at %v, not before %v", done.StartedAt, short.NotBefore)
	}
}

func (s *suite) cancel(ctx context.Context, t *testing.T) {
	spin := s.must(ctx, t, api.SubmitRequest{Behavior: spinBehavior, ID: "cancel-spin"})
	s.until(ctx, t, spin.ID, "running")
	reply, err := s.Cancel(ctx, "", spin.ID)
	if err != nil {
		t.Fatal(err)
	}
	if !reply.Told || reply.Task.ID != spin.ID {
		t.Errorf("cancel of a running task: %+v, want told", reply)
	}
	done := s.final(ctx, t, spin.ID)
	if done.Status != "FAILURE" || done.Error == nil || done.Error.Code != "CANCELLED" {
		t.Errorf("cancelled %+v, error %+v", done, done.Error)
	}
	if reply, err = s.Cancel(ctx, "", spin.ID); err != nil || reply.Told {
		t.Errorf("cancel of a cancelled task: %+v, %v; want done", reply, err)
	}
	ok := s.must(ctx, t, api.SubmitRequest{Behavior: okBehavior, ID: "cancel-ok"})
	s.final(ctx, t, ok.ID)
	_, err = s.Cancel(ctx, "", ok.ID)
	wantError(t, err, "not_cancellable", fieldOf(err))
}

func (s *suite) cancelWaiting(ctx context.Context, t *testing.T) {
	hour := api.Duration(time.Hour)
	s.must(ctx, t, api.SubmitRequest{Behavior: okBehavior, ID: "cancel-waiting", Delay: &hour})
	reply, err := s.Cancel(ctx, "", "cancel-waiting")
	if err != nil {
		t.Fatal(err)
	}
	if reply.Told || !reply.Task.Final || reply.Task.Error == nil || reply.Task.Error.Code != "CANCELLED" || reply.Task.Attempt != 0 {
		t.Errorf("cancel of a waiting task: %+v", reply)
	}
}

func (s *suite) remove(ctx context.Context, t *testing.T) {
	spin := s.must(ctx, t, api.SubmitRequest{Behavior: spinBehavior, ID: "remove-spin"})
	s.until(ctx, t, spin.ID, "running")
	waiting := make(chan error, 1)
	go func() {
		_, err := s.Task(ctx, "", spin.ID, api.GetOptions{Wait: patience})
		waiting <- err
	}()
	if err := s.Remove(ctx, "", spin.ID); err != nil {
		t.Fatal(err)
	}
	// A waiter that came before the removal is told of it. A waiter that came after it finds no task.
	if err := <-waiting; api.CodeOf(err) != "removed" && api.CodeOf(err) != "task_not_found" {
		t.Errorf("the waiter got %v, want removed", err)
	}
	_, err := s.Task(ctx, "", spin.ID, api.GetOptions{})
	wantError(t, err, "task_not_found", "")
	wantError(t, s.Remove(ctx, "", spin.ID), "task_not_found", "")
	if again := s.must(ctx, t, api.SubmitRequest{Behavior: okBehavior, ID: spin.ID}); again.Rev <= spin.Rev {
		t.Errorf("the ID used again has rev %d, not above %d", again.Rev, spin.Rev)
	}
}

func (s *suite) logs(ctx context.Context, t *testing.T) {
	created := s.must(ctx, t, api.SubmitRequest{Behavior: okBehavior, ID: "log-ok"})
	s.final(ctx, t, created.ID)
	reply, err := s.Logs(ctx, "", created.ID, api.LogsGet{})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range reply.Attempts {
		if a.Attempt != 1 || a.Token == 0 {
			t.Errorf("attempt %+v", a)
		}
	}
}

func (s *suite) notThere(ctx context.Context, t *testing.T) {
	_, err := s.Task(ctx, "", "not-there", api.GetOptions{})
	wantError(t, err, "task_not_found", "")
	_, err = s.Task(ctx, "", "not-there", api.GetOptions{Wait: patience})
	wantError(t, err, "task_not_found", "")
	_, err = s.Task(ctx, "nowhere", "not-there", api.GetOptions{})
	wantError(t, err, "namespace_not_found", "namespace")
	_, err = s.Task(ctx, "", "a", api.GetOptions{})
	wantError(t, err, "invalid_field", "id")
	_, err = s.Cancel(ctx, "", "not-there")
	wantError(t, err, "task_not_found", "")
	_, err = s.Logs(ctx, "", "not-there", api.LogsGet{})
	wantError(t, err, "task_not_found", "")
	_, err = s.Behavior(ctx, "", "apitest.nobody")
	wantError(t, err, "behavior_not_found", fieldOf(err))
	_, err = s.Module(ctx, "", strings.Repeat("0", 64))
	wantError(t, err, "module_not_found", fieldOf(err))
}
