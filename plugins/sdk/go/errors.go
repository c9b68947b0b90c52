package sdk

import "github.com/taskrt/taskrt/abi"

// Error is a failure with a code. If Run returns an error without an *Error in it, the task fails with the code HANDLER_ERROR,
// retryable. The behavior's Retry says whether a retryable failure is retried.
type Error struct {
	Code      string // [a-z0-9_.-]{1,64}; "": HANDLER_ERROR
	Message   string
	Retryable bool
	Details   []byte // JSON, kept in the task's error; nil: none
	cause     error
}

func (e *Error) Error() string {
	if e.Code == "" {
		return e.Message
	}
	return e.Code + ": " + e.Message
}

// Unwrap returns the error that Permanent was given.
func (e *Error) Unwrap() error { return e.cause }

// Fail returns a failure that is not retried.
func Fail(code, message string) error { return &Error{Code: code, Message: message} }

// Retryable returns a failure that may be retried.
func Retryable(code, message string) error {
	return &Error{Code: code, Message: message, Retryable: true}
}

// Permanent makes err a failure that is not retried; the code and details of an *Error in it stay. Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	p := &Error{Message: err.Error(), cause: err}
	if e, ok := find[*Error](err); ok {
		p.Code, p.Message, p.Details = e.Code, message(err, e), e.Details
	}
	return p
}

// message is the text of err without the code that e, which is err or wrapped in it, would repeat.
func message(err error, e *Error) string {
	if l, ok := err.(*later); ok { //nolint:errorlint // err itself, not what it wraps
		err = l.error
	}
	if err == error(e) { //nolint:errorlint // err itself, not what it wraps
		return e.Message
	}
	return err.Error()
}

// RetryAt makes err a retryable failure that says when the next attempt should come, whatever Behavior.Retry says
// (SPEC R4). It counts as a failure.
func RetryAt(err error, at Time) error { return &later{err, at} }

type later struct {
	error
	at Time
}

func (l *later) Unwrap() error { return l.error }

// Yield ends the attempt without an outcome: the task runs again at the time at, or soon if at is zero (SPEC R5). It counts
// as no failure. Return it after a checkpoint when Draining, or when there is nothing to do yet.
func Yield(at Time) error { return &yield{at} }

type yield struct{ at Time }

func (*yield) Error() string { return "run me again" }

// constError is an error that is its own text.
type constError string

func (e constError) Error() string { return string(e) }

// ErrCancelled ends the attempt as cancelled. Return it when Cancelled says so.
const ErrCancelled = constError("cancelled")

// These are errors of the host, from everything that asks it: SaveCheckpoint, Random, Blob, Partitions, and packages secrets, sdkhttp
// and tasks. Test for them with errors.Is.
const (
	ErrLeaseLost   = constError("the lease is lost: another attempt may be running; stop")
	ErrTooLarge    = constError("larger than the behavior's limit")
	ErrUnavailable = constError("not possible now; try again later")
	ErrDenied      = constError("not granted to this module")
	ErrUnsupported = constError("this host does not offer it")
	ErrInvalid     = constError("refused as invalid by the host")
	ErrNotFound    = constError("not there")
)

// statusError maps a negative status of the host (abi.Errno).
func statusError(status abi.Errno) error {
	switch status {
	case abi.ENOSYS:
		return ErrUnsupported
	case abi.E2BIG:
		return ErrTooLarge
	case abi.EAGAIN:
		return ErrUnavailable
	case abi.EDENIED:
		return ErrDenied
	case abi.ECONFLICT:
		return ErrLeaseLost
	case abi.ENOENT:
		return ErrNotFound
	}
	return ErrInvalid
}

func statusText(status abi.Errno) string { return statusError(status).Error() }

// walk goes through err as errors.Is and errors.As do, but without reflection, which is 65 KB of code in a guest.
func walk(err error, found func(error) bool) bool {
	for err != nil {
		if found(err) {
			return true
		}
		switch u := err.(type) { //nolint:errorlint // this is the unwrapping
		case interface{ Unwrap() error }:
			err = u.Unwrap()
		case interface{ Unwrap() []error }:
			for _, err := range u.Unwrap() {
				if walk(err, found) {
					return true
				}
			}
			return false
		default:
			return false
		}
	}
	return false
}

// find returns the first E in err.
func find[E error](err error) (e E, ok bool) {
	ok = walk(err, func(err error) bool {
		var found bool
		e, found = err.(E) //nolint:errorlint // one step of walk, which unwraps
		return found
	})
	return e, ok
}
