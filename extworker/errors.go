package extworker

import (
	"errors"
	"net/http"
	"time"

	"github.com/taskrt/taskrt/api"
)

// failure is an error, and how the cluster should treat it.
type failure struct {
	err       error
	code      string
	permanent bool
	at        time.Time
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// snooze is an error that is not a failure: the handler asks for another run.
type snooze struct{ at time.Time }

func (s *snooze) Error() string { return "extworker: snooze" }

// Permanent marks an error that no retry can mend.
func Permanent(err error) error { return &failure{err: err, permanent: true} }

// Code gives an error a code of the program's own, [a-z0-9_.-]{1,64}, instead of HANDLER_ERROR (SPEC T5).
func Code(err error, code string) error { return &failure{err: err, code: code} }

// RetryAt says when to retry, whatever the behavior's policy says (SPEC R4).
func RetryAt(err error, at time.Time) error { return &failure{err: err, at: at} }

// Snooze ends the attempt without an outcome and asks for another attempt at the time at. The attempt counts nowhere (SPEC R5). The
// zero time means in a second.
func Snooze(at time.Time) error { return &snooze{at} }

// reportOf makes the report of a failed attempt from its chain of errors; the outermost error wins. The API clips texts that are too long.
func reportOf(err error) (e *api.ReportError, at time.Time) {
	e = &api.ReportError{Message: err.Error()}
	for next := err; next != nil; {
		f, ok := errors.AsType[*failure](next)
		if !ok {
			break
		}
		if e.Code == "" {
			e.Code = f.code
		}
		if f.permanent {
			e.Retryable = new(false)
		}
		if at.IsZero() {
			at = f.at
		}
		next = f.err
	}
	if e.Retryable != nil {
		at = time.Time{} // permanent: there is no next time
	}
	return e, at
}

// wrong tells whether an error says that the request itself is wrong: the same request is refused whenever it is made. Other errors
// are about the state, such as 409 blob_gone.
func wrong(err error) bool {
	e, ok := errors.AsType[*api.Error](err)
	return ok && (e.Status == http.StatusBadRequest || e.Status == http.StatusRequestEntityTooLarge || e.Status == http.StatusUnprocessableEntity)
}

// passing tells whether an error may be gone when the call is made again: an error of the network, or of a cluster without a leader
// or with too much to do, or of a token that somebody is about to replace. Sending again is safe for every call of a worker (SPEC H4, L3).
func passing(err error) bool {
	e, ok := errors.AsType[*api.Error](err)
	return !ok || e.Status >= http.StatusInternalServerError || e.Status == http.StatusTooManyRequests || unproven(err)
}

// unproven tells whether the cluster asks for another token (SPEC A4). It has done nothing then.
func unproven(err error) bool {
	e, ok := errors.AsType[*api.Error](err)
	return ok && e.Status == http.StatusUnauthorized
}
