package apitest

import (
	"context"
	"testing"

	"github.com/taskrt/taskrt/api"
)

func (s *suite) partitions(ctx context.Context, t *testing.T, r api.PartitionsRequest) *api.ListReply {
	t.Helper()
	reply, err := s.Partitions(ctx, r)
	if err != nil {
		t.Fatalf("%+v: %v", r, err)
	}
	return reply
}

// operationTasks: what belongs to an operation goes its way (SPEC O6).
func (s *suite) operationTasks(ctx context.Context, t *testing.T) {
	s.pushOperations(ctx, t)
	s.start(ctx, t, api.StartOperationRequest{ID: "op-tasks", Behavior: "apitest.op.other", Target: "tasks", Partitions: some(2)})
	s.ended(ctx, t, "op-tasks")
	const id = "op-tasks:1"
	wantError(t, s.Remove(ctx, "", id), "operation_task", "")
	_, err := s.Retry(ctx, api.RetryRequest{ID: id})
	wantError(t, err, "operation_task", fieldOf(err))
	_, err = s.Resubmit(ctx, api.ResubmitRequest{ID: id})
	wantError(t, err, "operation_task", fieldOf(err))
	for _, ifExists := range []string{"rerun", "resubmit"} {
		_, err = s.Submit(ctx, api.SubmitRequest{Behavior: "apitest.op.other", ID: id, IfExists: ifExists})
		wantError(t, err, "operation_task", fieldOf(err))
	}
	_, err = s.Submit(ctx, api.SubmitRequest{Behavior: okBehavior, ID: "op-tasks:new"})
	wantError(t, err, "reserved_id", fieldOf(err))
	_, err = s.Txn(ctx, api.TxnRequest{Delete: []api.TxnDelete{{ID: id}}})
	if err == nil {
		t.Error("a transaction deletes a partition's task")
	}
	s.must(ctx, t, api.SubmitRequest{Behavior: okBehavior, ID: "op-taken:1"})
	_, err = s.StartOperation(ctx, api.StartOperationRequest{ID: "op-taken", Behavior: "apitest.op.other", Target: "taken", Partitions: some(2)})
	wantError(t, err, "reserved_id", "id")
	// The operation is removed as a whole, and whoever waits for it is told.
	s.start(ctx, t, api.StartOperationRequest{ID: "op-remove", Behavior: "apitest.op.spin", Partitions: some(20)})
	s.until(ctx, t, "op-remove:0", "running")
	gone := make(chan error, 1)
	go func() {
		_, err := s.Operation(ctx, "", "op-remove", api.OperationGet{Wait: patience})
		gone <- err
	}()
	if err := s.RemoveOperation(ctx, "", "op-remove"); err != nil {
		t.Fatal(err)
	}
	if err := <-gone; !isError(err, "removed") && !isError(err, "operation_not_found") {
		t.Errorf("who waited hears %v", err)
	}
	_, err = s.Operation(ctx, "", "op-remove", api.OperationGet{})
	wantError(t, err, "operation_not_found", fieldOf(err))
	if _, err := s.Task(ctx, "", "op-remove:19", api.GetOptions{Wait: patience}); !isError(err, "removed") && !isError(err, "task_not_found") {
		t.Errorf("a task of it: %v", err)
	}
	wantError(t, s.RemoveOperation(ctx, "", "op-remove"), "operation_not_found", "")
}
