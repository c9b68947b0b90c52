package api

import "slices"

// DecodeChild decodes and checks a task that a guest submits together with its own success (abi/README.md, taskrt_tasks_v1): the
// body of a submit, without a namespace, that joins an existing task or fails. An error is an *Error.
func DecodeChild(doc []byte) (SubmitRequest, error) {
	req, err := decodeChild(doc)
	return req, err.orNil()
}

// CheckChild is DecodeChild for a host that only asks whose task it is.
func CheckChild(doc []byte) (behavior string, err error) {
	r, err := DecodeChild(doc)
	return r.Behavior, err
}

func decodeChild(doc []byte) (req SubmitRequest, err *Error) {
	if err := decodeStrict(doc, &req); err != nil {
		return req, err
	}
	switch {
	case req.Namespace != "":
		return req, FieldError(CodeInvalidField, "namespace", "a child is in its parent's namespace, which is not said")
	case !slices.Contains([]string{"", "join", "fail"}, req.IfExists):
		return req, FieldError(CodeInvalidField, "if_exists", "must be join or fail")
	}
	return req, req.check()
}
