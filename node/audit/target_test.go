package audit

import (
	"strings"
	"testing"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/audit"
)

// steers says, by hand, of which of the commands of TestCalled Apply decides whether the caller may: they are about tasks or operations that are
// there (SPEC A5).
func steers(c task.Command) bool {
	switch c := c.(type) {
	case task.Cancel, task.Remove, task.RetryTask, task.CancelOperation, task.RetryOperation, task.RemoveOperation:
		return true
	case task.Submit:
		return c.IfExists != task.Join && c.IfExists != task.Fail
	case task.Txn:
		return c.Updates != nil || c.Deletes != nil
	}
	return false
}

// TestCalled: what the log says of the caller of each command (SPEC A8).
func TestCalled(t *testing.T) {
	k := task.Key{Namespace: "team", ID: "task-1"}
	by := task.Caller{Token: 3, From: "10.0.0.1:99", Route: "POST /v1/x"}
	for _, c := range []struct {
		command task.Command
		target  string
	}{
		{task.CreateToken{Name: "ci", Hash: []byte("secret")}, "ci"}, {task.RotateToken{Name: "ci"}, "ci"}, {task.RevokeToken{Name: "ci"}, "ci"},
		{task.SetRoot{Off: true}, ""}, {task.StartMaintenance{}, ""}, {task.DrainNode{Node: "n1"}, "n1"}, {task.SetMember{Node: "n4"}, "n4"}, {task.HoldBlobs{ID: "a1", TTL: 9}, "backup a1"},
		{task.Cancel{Key: k}, "team/task-1"}, {task.Remove{Key: k}, "team/task-1"}, {task.RetryTask{Key: k}, "team/task-1"},
		{task.CancelOperation{Key: k}, "team/task-1"}, {task.RetryOperation{Key: k}, "team/task-1"}, {task.RemoveOperation{Key: k}, "team/task-1"},
		{task.Submit{Namespace: "team", ID: "task-1", IfExists: task.Rerun}, "team/task-1"},
		{task.Submit{Namespace: "team", ID: "task-1", IfExists: task.Resubmit}, "team/task-1"},
		{task.Txn{Namespace: "team"}, "team/"},
		{task.Txn{Namespace: "team", Deletes: []task.TxnDelete{{ID: "task-1"}}}, "team/task-1"},
		{task.Txn{Namespace: "team", Updates: []task.TxnUpdate{{ID: "task-1"}}, Submits: []task.Submit{{ID: "task-2"}}, Finishes: []task.Finish{{}}}, "team/task-1 and 2 more"},
		{task.PutBehavior{Namespace: "team", Name: "mail"}, "team/mail"}, {task.ActivateVersion{Namespace: "team", Name: "mail"}, "team/mail"},
		{task.DeleteBehavior{Namespace: "team", Name: "mail"}, "team/mail"}, {task.PauseBehavior{Namespace: "team", Name: "mail"}, "team/mail"},
		{task.Activate{Namespace: "team", Behaviors: []task.Activated{{Name: "mail"}, {Name: "bill"}}}, "team/mail,bill"},
		{task.PutNamespace{Name: "team"}, "team/"}, {task.SetNamespaceStatus{Name: "team"}, "team/"}, {task.ImportRecords{Namespace: "team"}, "team/"},
		{task.StartJob{Namespace: "team", Action: 1}, "team/job"}, {task.EndJob{Number: 17}, "job 17"},
	} {
		want := by
		want.Target, want.Look = c.target, steers(c.command)
		if got := Called(by, c.command); got != want {
			t.Errorf("%T: %+v", c.command, got)
		}
		if got := Called(task.Caller{Token: 3}, c.command); got != (task.Caller{Token: 3, Look: want.Look}) {
			t.Errorf("%T of a call that is not recorded: %+v", c.command, got)
		}
	}
	for _, c := range []task.Command{task.NoteBlob{}, task.SelectJob{Number: 17}, task.StepJob{Number: 17}, task.Submit{ID: "task-1"}, task.Submit{ID: "task-1", IfExists: task.Fail}} {
		if got := Called(by, c); got != (task.Caller{Token: 3}) {
			t.Errorf("%T only prepares, or creates: %+v", c, got)
		}
	}
	for _, c := range []task.Command{task.Finish{Key: k}, task.Beat{Key: k}, task.Snooze{Key: k}, task.Txn{Finishes: []task.Finish{{}}}, task.Txn{Depends: []task.TxnDepend{{}}}} {
		if got := Called(task.Caller{Token: 3}, c); got != (task.Caller{Token: 3, Look: true}) {
			t.Errorf("%T: %+v", c, got)
		}
	}
	if got := Called(task.Caller{}, task.Cancel{Key: k}); got != (task.Caller{}) {
		t.Errorf("the cluster itself: %+v", got)
	}
	long := strings.Repeat("ü", 200)
	got := Called(task.Caller{From: long, Route: long}, task.RevokeToken{Name: long})
	if field, why := audit.Wrong(got.From, got.Route, got.Target); field != "" || len(got.Target) < audit.MaxTarget-1 {
		t.Errorf("%s %s: %+v", field, why, got)
	}
}
