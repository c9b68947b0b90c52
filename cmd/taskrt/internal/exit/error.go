package exit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/taskrt/taskrt/api"
	apiclient "github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/node"
)

// Error ends the program with a code; if Err is nil, nothing more is printed.
type Error struct {
	Code int
	Err  error
}

// With is the error that ends the program with a code. err may be nil.
func With(code int, err error) error { return &Error{Code: code, Err: err} }

func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// over are the reasons for which the directory of a member takes part no longer.
var over = []error{node.ErrRemoved, node.ErrSuperseded}

// OfMember gives what ended a server or a worker its code. No error: nil.
func OfMember(err error) error {
	if err == nil {
		return nil
	}
	if slices.ContainsFunc(over, func(why error) bool { return errors.Is(err, why) }) {
		return With(Over, err)
	}
	return With(Stopped, err)
}

// CodeOf is the code of an error that carries none. Once ctx has ended, what the cluster did not answer was interrupted.
func CodeOf(ctx context.Context, err error) int {
	switch api.CodeOf(err) {
	case "":
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			return Interrupted
		}
		if _, ok := errors.AsType[*fs.PathError](err); ok {
			return File
		}
		return Usage
	case apiclient.CodeUnreachable, api.CodeNoLeader, api.CodeNotReady, api.CodeOutcomeUnknown, api.CodeIssuerAway:
		if ctx.Err() != nil {
			return Interrupted
		}
		return Unreachable
	}
	return Refused
}
