package api

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/taskrt/taskrt/api/internal/scan"
	"github.com/taskrt/taskrt/internal/clip"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/blobs"
)

// These are limits of what workers send (SPEC L2, J2, T5).
const (
	MinLease   = time.Second
	MaxLease   = time.Hour
	MaxWorker  = 128             // worker, request_id: bytes
	MaxMessage = task.MaxMessage // of an error: bytes; a longer message is clipped
	MaxCode    = 64              // of an error: characters
)

// hostCodes are the codes of the host (SPEC T5) that a worker may report of a run. Only the state machine gives the others.
var hostCodes = []string{"HANDLER_ERROR", "TRAP", "TIMEOUT", "OUT_OF_MEMORY", "OUT_OF_FUEL", "NO_RESULT"}

// Check tells what is wrong with the request by itself and fills in the namespace; nil or an *Error.
func (r *RetryRequest) Check() error {
	if err := checkTarget(&r.Namespace, r.ID); err != nil {
		return err
	}
	if r.Version != "" && r.Version != "active" {
		if err := checkHex("version", r.Version); err != nil {
			err.Detail += ", or active"
			return err
		}
	}
	return checkTimes(r.NotBefore, r.Delay, r.Deadline).orNil()
}

// Check tells what is wrong with the request by itself and brings it into its one form; nil or an *Error.
func (r *ResubmitRequest) Check() error {
	if err := checkTarget(&r.Namespace, r.ID); err != nil {
		return err
	}
	if err := CheckUserNamespace(r.Namespace); err != nil {
		return err
	}
	if err := checkPayload("params", &r.Params, r.ParamsBase64); err != nil {
		return err
	}
	return checkTimes(r.NotBefore, r.Delay, r.Deadline).orNil()
}

// Check tells what is wrong with the request by itself and fills in namespace and max; nil or an *Error.
func (r *AcceptRequest) Check() error {
	var err *Error
	if r.Namespace, err = userNamespace(r.Namespace); err != nil {
		return err
	}
	if err := checkBehaviorName("name", r.Behavior); err != nil {
		return err
	}
	if err := checkWord("worker", r.Worker); err != nil {
		return err
	}
	if r.RequestID != "" {
		if err := checkWord("request_id", r.RequestID); err != nil {
			return err
		}
	}
	if r.Max == 0 {
		r.Max = 1
	}
	if r.Max < 0 || r.Max > MaxAccept {
		return rangeError("max", MaxAccept, "must be 1 to %d", MaxAccept)
	}
	if w := r.Wait; w != nil && (*w < 0 || *w > Duration(MaxWait*time.Second)) {
		return rangeError("wait", MaxWait, "must be 0s to %v; ask again for a longer one", MaxWait*time.Second)
	}
	if err := checkLease("lease", r.Lease); err != nil {
		return err
	}
	return checkTime("max_not_before", r.MaxNotBefore).orNil()
}

// Check tells what is wrong with the request by itself and brings it into its one form; nil or an *Error.
func (r *HeartbeatRequest) Check() error {
	if err := checkTarget(&r.Namespace, r.ID); err != nil {
		return err
	}
	if err := checkToken(r.Token); err != nil {
		return err
	}
	if err := checkInline("progress", &r.Progress); err != nil {
		return err
	}
	if err := checkPayload("checkpoint", &r.Checkpoint, r.CheckpointBase64); err != nil {
		return err
	}
	return checkLease("extend", r.Extend).orNil()
}

// Check tells what is wrong with the request by itself and brings it into its one form; nil or an *Error.
func (r *FinishRequest) Check() error { return r.check().orNil() }

func (r *FinishRequest) check() *Error {
	if err := checkTarget(&r.Namespace, r.ID); err != nil {
		return err
	}
	if err := checkToken(r.Token); err != nil {
		return err
	}
	if err := checkPayload("result", &r.Result, r.ResultBase64); err != nil {
		return err
	}
	if err := checkTime("again_at", r.AgainAt); err != nil {
		return err
	}
	if err := checkInline("progress", &r.Progress); err != nil {
		return err
	}
	if r.Error == nil {
		return nil
	}
	if r.Result != nil || r.ResultBase64 != nil {
		return FieldError(CodeInvalidField, "error", "give either a result or an error")
	}
	if err := r.Error.check(); err != nil {
		err.Field = join("error", err.Field)
		return err
	}
	if r.AgainAt != nil && r.Error.Retryable != nil && !*r.Error.Retryable {
		return FieldError(CodeInvalidField, "again_at", "an error that is not retryable is not tried again")
	}
	return nil
}

func (e *ReportError) check() *Error {
	own := len(e.Code) <= MaxCode && only(e.Code, isBehaviorByte)
	if !own && !slices.Contains(hostCodes, e.Code) {
		return rangeError("code", MaxCode, "must be 1 to %d of a-z 0-9 . _ -, or one of %s", MaxCode, strings.Join(hostCodes, ", "))
	}
	e.Message = clip.Text(e.Message, MaxMessage) // not refused: however long its message is, the attempt has failed
	return checkInline("details", &e.Details)
}

// CheckReports refuses a bulk finish that is too long; nil or an *Error.
func CheckReports(rs []FinishRequest) error {
	if len(rs) > MaxReports {
		return LimitError("reports", MaxReports, "%d reports, at most %d", len(rs), MaxReports)
	}
	return nil
}

// CheckReport checks report number i of a bulk finish, and notes its task in seen. It refuses a second report of a task
// (SPEC J4), because chance would decide which of the two comes first.
func CheckReport(f *FinishRequest, i int, seen map[[2]string]int) *Error {
	if err := f.check(); err != nil {
		return err
	}
	key := [2]string{f.Namespace, f.ID}
	if before, twice := seen[key]; twice {
		return FieldError(CodeInvalidField, "id", "%s is also in reports[%d]", f.ID, before)
	}
	seen[key] = i
	return nil
}

// Check tells what is wrong with the request by itself and brings it into its one form; nil or an *Error.
func (r *SnoozeRequest) Check() error {
	if err := checkTarget(&r.Namespace, r.ID); err != nil {
		return err
	}
	if err := checkToken(r.Token); err != nil {
		return err
	}
	if err := checkInline("progress", &r.Progress); err != nil {
		return err
	}
	if err := checkPayload("checkpoint", &r.Checkpoint, r.CheckpointBase64); err != nil {
		return err
	}
	return checkTime("again_at", r.AgainAt).orNil()
}

// Check tells what is wrong with the request by itself; nil or an *Error. The Service checks the content of the definition.
func (r *PutBehaviorRequest) Check() error {
	var err *Error
	if r.Namespace, err = userNamespace(r.Namespace); err != nil {
		return err
	}
	if err := checkBehaviorName("name", r.Name); err != nil {
		return err
	}
	if len(r.Policy) > MaxManifest {
		return LimitError("", MaxManifest, "%d bytes, at most %d", len(r.Policy), MaxManifest)
	}
	if err := CheckJSON(r.Policy); err != nil {
		return err
	}
	if r.Policy = bytes.TrimSpace(r.Policy); r.Policy[0] != '{' {
		return NewError(CodeInvalidJSON, "the body must be an object")
	}
	return nil
}

// CheckNode checks the ID of a member or worker; nil or an *Error.
func CheckNode(id string) error { return checkWord("id", id).orNil() }

// checkTarget checks the ID of a task and its namespace, and fills in the namespace.
func checkTarget(namespace *string, id string) *Error {
	ns, err := checkNamespace(*namespace)
	if err != nil {
		return err
	}
	*namespace = ns
	return checkID(id)
}

func checkToken(token uint64) *Error {
	if token == 0 {
		return FieldError(CodeInvalidField, "token", "is required: the one of the lease")
	}
	return nil
}

// checkWord checks a name that people choose: the name of a worker, a request or a node.
func checkWord(field, s string) *Error {
	control := func(c rune) bool { return unicode.IsControl(c) }
	if s == "" || len(s) > MaxWorker || !utf8.ValidString(s) || strings.ContainsFunc(s, control) {
		return rangeError(field, MaxWorker, "must be 1 to %d bytes of UTF-8 without control characters", MaxWorker)
	}
	return nil
}

// CheckHex checks the digest of a module, or a version, as 64 hexadecimal digits; nil or an *Error.
func CheckHex(field, s string) error { return checkHex(field, s).orNil() }

func checkHex(field, s string) *Error {
	if len(s) != 64 || !only(s, isHexByte) {
		return FieldError(CodeInvalidField, field, "must be 64 lower-case hexadecimal digits")
	}
	return nil
}

func isHexByte(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' }

func checkLease(field string, d *Duration) *Error {
	if d != nil && (time.Duration(*d) < MinLease || time.Duration(*d) > MaxLease) {
		return rangeError(field, int64(MaxLease.Seconds()), "must be %v to %v", MinLease, MaxLease)
	}
	return nil
}

// rangeError returns an error invalid_field with the limit that its detail names.
func rangeError(field string, limit int64, format string, args ...any) *Error {
	e := FieldError(CodeInvalidField, field, format, args...)
	e.Limit = limit
	return e
}

// checkPayload checks params, a result or a checkpoint. They are given as JSON, which checkPayload compacts, or as bytes. If
// they are longer than MaxInline, they become a blob later (SPEC H3).
func checkPayload(field string, text *json.RawMessage, raw []byte) *Error {
	if err := checkSized(field, text, raw, MaxPayload); err != nil {
		return err
	}
	if n := len(blobs.Named(*text)); n > task.MaxNamed {
		return LimitError(field, task.MaxNamed, "names %d blobs, at most %d", n, task.MaxNamed)
	}
	return nil
}

// checkInline checks JSON that never becomes a blob: progress, details of errors, arguments of operations.
func checkInline(field string, text *json.RawMessage) *Error {
	return checkSized(field, text, nil, MaxInline)
}

// checkSized checks that JSON or bytes have at most limit bytes, and that the JSON is valid. It compacts the JSON.
func checkSized(field string, text *json.RawMessage, raw []byte, limit int) *Error {
	if *text != nil && raw != nil {
		return FieldError(CodeInvalidField, field+"_base64", "give either %s or %s_base64", field, field)
	}
	if n := len(raw); n > limit {
		return LimitError(field+"_base64", int64(limit), "%d bytes, at most %d", n, limit)
	}
	if *text == nil {
		return nil
	}
	if _, compact := scan.Valid(*text); compact && len(*text) <= limit { // as most texts are, and all that were checked before
		return nil
	}
	if !utf8.Valid(*text) || scan.TooDeep(*text) {
		return FieldError(CodeInvalidField, field, "not JSON: invalid UTF-8, or nested deeper than %d levels", scan.MaxDepth)
	}
	if n := scan.CompactLen(*text); n > limit { // before it is copied: it may be megabytes
		return LimitError(field, int64(limit), "%d bytes, at most %d", n, limit)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, *text); err != nil {
		return FieldError(CodeInvalidField, field, "not JSON: %v", err)
	}
	*text = compact.Bytes()
	return nil
}

func checkTimes(notBefore *Time, delay *Duration, deadline *Time) *Error {
	if notBefore != nil && delay != nil {
		return FieldError(CodeInvalidField, "delay", "give either not_before or delay")
	}
	if delay != nil && *delay < 0 {
		return FieldError(CodeInvalidField, "delay", "must not be negative")
	}
	if err := checkTime("not_before", notBefore); err != nil {
		return err
	}
	return checkTime("deadline", deadline)
}

// checkTime refuses a time that the form of times on the wire cannot express. Only callers in-process can give such a time.
func checkTime(field string, t *Time) *Error {
	if t != nil && (t.UnixMilli() <= 0 || t.UTC().Year() > 9999) {
		return FieldError(CodeInvalidField, field, "is out of range: 1970 to 9999")
	}
	return nil
}
