package view

import (
	"errors"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/runs"
	"github.com/taskrt/taskrt/api/spaces"
	"github.com/taskrt/taskrt/task"
)

// Refusal turns a rejection of the machine into an error of the API. It returns nil for success.
func Refusal(r *task.Result) *api.Error {
	if r.Code == task.OK {
		return nil
	}
	detail := r.Message
	if detail == "" {
		detail = string(r.Code)
	}
	e := api.NewError(string(r.Code), "%s", detail)
	e.Field = r.Field
	if r.Code == task.QuotaExceeded {
		spaces.Quota(e, r.Space)
	}
	if r.Operation != nil && (r.Code == task.OperationConflict || r.Code == task.AlreadyExists) {
		e.Operation = State{}.Operation(r.Operation)
	}
	runs.Refusal(e, r)
	for _, why := range r.Reasons {
		e.Reasons = append(e.Reasons, api.Reason{Kind: why.Kind, ID: why.ID})
	}
	return e
}

// Accepted returns the result of one command, or its rejection as an error.
func Accepted(r *task.Result) (task.Result, error) {
	if e := Refusal(r); e != nil {
		return task.Result{}, e
	}
	return *r, nil
}

// Error returns err as the API shows it. An error without a code is internal.
func Error(err error) *api.Error {
	if e, ok := errors.AsType[*api.Error](err); ok {
		return e
	}
	return api.NewError(api.CodeInternal, "%v", err)
}

// CheckAgain reports whether nothing was done because something that the command was checked against had changed when
// the command was applied. That is a behavior (SPEC B2: a version becomes active at one point in the log, also for the
// checks of a submit), or a blob that maintenance has deleted: it is put again if its bytes are here (SPEC M3).
func CheckAgain(c task.Code) bool { return c == task.BehaviorWasChanged || c == task.BlobGone }
