package sdk

import "github.com/taskrt/taskrt/plugins/sdk/go/tinyjson"

// OperationTask holds the params of a task of an operation: of a partition, of the completion, or of a cleanup
// (SPEC O1, O3).
type OperationTask struct {
	Operation string // ID
	Target    string
	Object    string
	Arg       []byte // JSON, the argument with which the operation was started; null if there was none

	Partition string // of a partition and of its cleanup
	Token     uint64 // of a cleanup: the fencing token of the attempt that it tidies up behind

	Success   bool  // of a completion: every partition succeeded
	Succeeded int64 // of a completion: partitions
	Failed    int64
}

// OperationTask reads the params of a task that is part of an operation. If the params are not those of such a task, the error is a
// failure for good with the code bad_params: it tells whoever submits the behavior by itself.
func (c *Context) OperationTask() (OperationTask, error) {
	members, err := tinyjson.Members(c.Params())
	if err != nil {
		return OperationTask{}, Fail("bad_params", err.Error())
	}
	var t OperationTask
	for _, m := range members {
		if m.Name == "arg" {
			t.Arg = m.Raw
			continue
		}
		v, err := tinyjson.Parse(m.Raw)
		if err != nil {
			return OperationTask{}, Fail("bad_params", m.Name+": "+err.Error())
		}
		t.set(m.Name, v)
	}
	if t.Operation == "" {
		return OperationTask{}, Fail("bad_params", `this behavior runs in an operation: "operation" is missing`)
	}
	return t, nil
}

func (t *OperationTask) set(name string, v tinyjson.Value) {
	switch name {
	case "operation":
		t.Operation = text(v)
	case "target":
		t.Target = text(v)
	case "object":
		t.Object = text(v)
	case "partition":
		t.Partition = text(v)
	case "token":
		n, _ := v.Int64()
		t.Token = uint64(n)
	case "success":
		t.Success, _ = v.Truth()
	case "counts":
		n, _ := v.Get("success")
		t.Succeeded, _ = n.Int64()
		n, _ = v.Get("failure")
		t.Failed, _ = n.Int64()
	}
}

// text returns the string of v, and "" for a value of another kind.
func text(v tinyjson.Value) string {
	if s, ok := v.Str(); ok {
		return s
	}
	return ""
}
