package api

import (
	"errors"
	"fmt"
	"net/http"
)

// Error is an error of the service: RFC 9457 problem+json on the wire (SPEC H3). Code is stable.
type Error struct {
	Code   string `json:"code"`
	Type   string `json:"type,omitempty"` // TypeOf(Code), in what servers answer
	Status int    `json:"status"`         // HTTP status
	Title  string `json:"title,omitempty"`
	Detail string `json:"detail,omitempty"`
	Field  string `json:"field,omitempty"` // the field of the request that is wrong
	Limit  int64  `json:"limit,omitempty"` // the limit that was passed
	// RetryMS is how long to wait before the request is sent again. The header Retry-After has it in seconds, rounded up.
	RetryMS int64 `json:"retry_after_ms,omitempty"`

	Reasons []Reason `json:"reasons,omitempty"` // of conflict: every reason (SPEC X1)
	// Operation is, of operation_conflict, the operation that runs (SPEC O2), and of already_exists the operation that has the
	// ID.
	Operation *Operation `json:"operation,omitempty"`
	Run       int64      `json:"run,omitempty"` // of maintenance_running and run_not_found: the run that is unfinished (SPEC M1)
}

func (e *Error) Error() string {
	switch {
	case e.Field != "":
		return fmt.Sprintf("%s: %s: %s", e.Code, e.Field, e.Detail)
	case e.Detail != "":
		return fmt.Sprintf("%s: %s", e.Code, e.Detail)
	}
	return e.Code
}

// These are the codes that the API itself gives. The codes of the state machine (task.Code) and of uploads (upload.Error)
// travel under their own names. The registry, codes, knows the status of each code.
const (
	CodeBadRequest       = "bad_request"
	CodeInvalidJSON      = "invalid_json"
	CodeUnknownField     = "unknown_field"
	CodeInvalidField     = "invalid_field"
	CodeNotFound         = "not_found"
	CodeTaskNotFound     = "task_not_found"
	CodeBehaviorNotFound = "behavior_not_found"
	CodeModuleNotFound   = "module_not_found"
	CodeRemoved          = "removed"
	CodeMethodNotAllowed = "method_not_allowed"
	CodeTooLarge         = "too_large"
	CodeUnsupportedMedia = "unsupported_media_type"
	CodeInvalidParams    = "invalid_params"
	CodeParamsSchema     = "params_schema"
	CodeResultSchema     = "result_schema"
	CodeCrossOrigin      = "cross_origin"
	CodeOtherCluster     = "other_cluster"
	CodeUnknownHost      = "unknown_host"
	CodeOverloaded       = "overloaded"
	CodeInternal         = "internal"
	CodeNoLeader         = "no_leader"
	CodeOutcomeUnknown   = "outcome_unknown"
	CodeNotReady         = "not_ready"

	CodeUnauthenticated = "unauthenticated"
	CodeTokenRevoked    = "token_revoked"
	CodeForbidden       = "forbidden"
	CodeRateLimited     = "rate_limited"
	CodeTokenNotFound   = "token_not_found"
	CodeTokenExists     = "token_exists"
	CodeTooManyTokens   = "too_many_tokens"
	CodeIssuerNotFound  = "issuer_not_found"
	CodeIssuerAway      = "issuer_away"
	CodeSignInRefused   = "sign_in_refused"
	CodeSignInChanged   = "sign_in_changed"

	CodeVersionNotFound     = "version_not_found"
	CodeMemberNotFound      = "member_not_found"
	CodeJobNotFound         = "job_not_found"
	CodeNoMajority          = "no_majority"
	CodeHalt                = "halt"
	CodeLevelTooLow         = "level_too_low"
	CodeConflict            = "conflict"
	CodeIdempotencyMismatch = "idempotency_mismatch"

	CodeBlobNotFound   = "blob_not_found"
	CodeBlobGone       = "blob_gone"
	CodeDigestMismatch = "digest_mismatch"
	CodeStorageFull    = "storage_full"
	CodeNoRange        = "range_not_satisfiable"
	CodePrecondition   = "precondition_failed"

	CodeBadArchive        = "bad_archive"
	CodeNamespaceReserved = "namespace_reserved"
	CodeQuotaExceeded     = "quota_exceeded"
	CodeRunNotFound       = "run_not_found"
)

// ErrorsPage explains each code in a section of its own.
const ErrorsPage = "https://github.com/taskrt/taskrt/blob/main/docs/errors.md"

// TypeOf is the type of a problem with a code: the address where the code is explained.
func TypeOf(code string) string { return ErrorsPage + "#" + code }

// soonMS is how long Retry-After says to wait if the error does not say it: an election takes about as long.
const soonMS = 1000

// passes reports whether an error passes by itself, and nothing was done (SPEC H3): with outcome_unknown a second request may do it twice.
func (e *Error) passes() bool {
	return e.Status == http.StatusTooManyRequests || e.Code == CodeNoLeader || e.Code == CodeNotReady || e.Code == CodeIssuerAway
}

// Complete returns a copy of the error in which missing values of status, title and retry_after_ms are filled in, by the
// registry.
func (e *Error) Complete() *Error {
	c := *e
	if c.Status == 0 {
		c.Status = StatusOf(c.Code)
	}
	if c.Title == "" {
		c.Title = http.StatusText(c.Status)
	}
	if c.RetryMS == 0 && c.passes() {
		c.RetryMS = soonMS
	}
	return &c
}

// NewError makes an error of a known code; the rest comes from the registry.
func NewError(code, format string, args ...any) *Error {
	return (&Error{Code: code, Detail: fmt.Sprintf(format, args...)}).Complete()
}

// FieldError makes an error that names the field of the request that is wrong.
func FieldError(code, field, format string, args ...any) *Error {
	e := NewError(code, format, args...)
	e.Field = field
	return e
}

// UnknownNamespace is the answer for a namespace that does not exist, and for one in which the caller has no role (SPEC A5).
func UnknownNamespace(name string) *Error {
	return FieldError("namespace_not_found", "namespace", "no namespace %.80s", name)
}

// LimitError says that field is larger than limit: too_large, 413.
func LimitError(field string, limit int64, format string, args ...any) *Error {
	e := FieldError(CodeTooLarge, field, format, args...)
	e.Limit = limit
	return e
}

// UploadError makes an error with a code of package runtime/upload (SPEC B2). Its status is 422, but 413 for too_large.
func UploadError(code, field, message string) *Error {
	e := &Error{Code: code, Status: http.StatusUnprocessableEntity, Detail: message, Field: field}
	if code == CodeTooLarge {
		e.Status = StatusOf(code)
	}
	e.Title = http.StatusText(e.Status)
	return e
}

// ErrorOf returns the *Error in err's chain, nil if there is none.
func ErrorOf(err error) *Error {
	e, _ := errors.AsType[*Error](err)
	return e
}

// CodeOf returns the code of the *Error in err's chain, "" if there is none.
func CodeOf(err error) string {
	if e := ErrorOf(err); e != nil {
		return e.Code
	}
	return ""
}
