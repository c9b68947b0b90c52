// Package children reads the tasks that guests submit together with their own success.
package children

import (
	"slices"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
)

// Decode decodes and checks a task that a guest submits together with its own success (abi/README.md, taskrt_tasks_v1). Such a
// task is the body of a submit, without a namespace, whose if_exists is join or fail. An error is an *Error.
func Decode(doc []byte) (api.SubmitRequest, error) {
	var req api.SubmitRequest
	if err := codec.Strict.Decode(doc, &req); err != nil {
		return req, err
	}
	switch {
	case req.Namespace != "":
		return req, api.FieldError(api.CodeInvalidField, "namespace", "a child is in its parent's namespace, which is not said")
	case !slices.Contains([]string{"", "join", "fail"}, req.IfExists):
		return req, api.FieldError(api.CodeInvalidField, "if_exists", "must be join or fail")
	}
	return req, req.Check()
}

// Check is Decode for a host that only needs the behavior of the task.
func Check(doc []byte) (behavior string, err error) {
	r, err := Decode(doc)
	return r.Behavior, err
}
