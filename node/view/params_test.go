package view_test

import (
	"testing"

	"github.com/taskrt/taskrt/node/view"
	"github.com/taskrt/taskrt/task"
)

func TestOperationParams(t *testing.T) {
	o := &task.Operation{
		Namespace: "default", ID: "op1", Target: "<t>", Object: "o", Partitions: 3, Arg: task.Payload{Encoding: task.JSON, Data: []byte(`{"a":"<b>"}`)},
		Counts: task.OperationCounts{Success: 2, Failure: 1},
	}
	for _, c := range []struct {
		task task.Task
		want string
	}{
		{task.Task{ID: "op1:0", Role: task.RolePartition, Partition: "north"}, `{"operation":"op1","partition":"north","target":"<t>","object":"o","arg":{"a":"<b>"}}`},
		{task.Task{ID: "op1:complete", Role: task.RoleCompletion}, `{"operation":"op1","success":false,"counts":{"waiting":0,"running":0,"retrying":0,"success":2,"failure":1},"target":"<t>","object":"o","arg":{"a":"<b>"}}`},
		{task.Task{ID: "op1:cleanup:77", Role: task.RoleCleanup, Partition: "1"}, `{"operation":"op1","partition":"1","target":"<t>","object":"o","arg":{"a":"<b>"},"token":77}`},
	} {
		if got := view.ParamsOf(o, &c.task); got.Encoding != task.JSON || string(got.Data) != c.want {
			t.Errorf("%s: %s\nwant %s", c.task.ID, got.Data, c.want)
		}
	}
	o.Counts = task.OperationCounts{Success: 3}
	o.Arg = task.Payload{}
	want := `{"operation":"op1","success":true,"counts":{"waiting":0,"running":0,"retrying":0,"success":3,"failure":0},"target":"<t>","object":"o","arg":null}`
	if got := view.ParamsOf(o, &task.Task{ID: "op1:complete", Role: task.RoleCompletion}); string(got.Data) != want {
		t.Errorf("%s\nwant %s", got.Data, want)
	}
}
