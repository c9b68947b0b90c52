package api

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// These are limits of names and labels. The limits of IDs are from SPEC I1, those of behaviors from SPEC B1. The others are the
// API's own.
const (
	MinName       = 3
	MaxName       = 128
	MaxNamespace  = 64
	MaxLabels     = 64
	MaxLabelName  = 128
	MaxLabelValue = 256
	MaxPriority   = 9
)

// DefaultNamespace is the namespace of a request that names none (SPEC H1).
const DefaultNamespace = "default"

// Check tells what is wrong with the request by itself; nil or an *Error. It brings the request into the one form with which a
// Service works: the namespace is filled in, and the params have no insignificant white space. Checking twice does no harm.
// Check does not look at what only the behavior or the state can tell: the schema, the behavior's own limit, whether the ID is
// taken.
func (r *SubmitRequest) Check() error { return r.check().orNil() }

// orNil returns e as an error. A nil *Error becomes a nil error, not an error that holds a nil *Error.
func (e *Error) orNil() error {
	if e == nil {
		return nil
	}
	return e
}

func (r *SubmitRequest) check() *Error {
	var err *Error
	if r.Namespace, err = userNamespace(r.Namespace); err != nil {
		return err
	}
	if err := checkBehaviorName("behavior", r.Behavior); err != nil {
		return err
	}
	if r.ID != "" {
		if err := checkID(r.ID); err != nil {
			return err
		}
	}
	if err := checkPayload("params", &r.Params, r.ParamsBase64); err != nil {
		return err
	}
	if !slices.Contains([]string{"", "join", "fail", "rerun", "resubmit"}, r.IfExists) {
		return FieldError(CodeInvalidField, "if_exists", "must be join, fail, rerun or resubmit")
	}
	if err := checkTimes(r.NotBefore, r.Delay, r.Deadline); err != nil {
		return err
	}
	if err := checkPriority(r.Priority); err != nil {
		return err
	}
	if r.Wait < 0 {
		return FieldError(CodeInvalidField, "wait", "must not be negative")
	}
	return checkLabels(r.Labels)
}

func checkPriority(p *int) *Error {
	if p != nil && (*p < 0 || *p > MaxPriority) {
		return rangeError("priority", MaxPriority, "must be 0 to %d", MaxPriority)
	}
	return nil
}

// CheckNamespace checks the name of a namespace, and replaces "" by the default; nil or an *Error.
func CheckNamespace(namespace *string) error {
	var err *Error
	*namespace, err = checkNamespace(*namespace)
	return err.orNil()
}

// checkNamespace returns the namespace with the default filled in.
func checkNamespace(ns string) (string, *Error) {
	if ns == "" {
		return DefaultNamespace, nil
	}
	if len(ns) > MaxNamespace || !only(ns, isIDByte) {
		e := FieldError(CodeInvalidField, "namespace", "must be 1 to %d of A-Z a-z 0-9 . _ : -", MaxNamespace)
		e.Limit = MaxNamespace
		return ns, e
	}
	return ns, nil
}

// CheckID checks a task's ID (SPEC I1); nil or an *Error.
func CheckID(id string) error { return checkID(id).orNil() }

func checkID(id string) *Error {
	if len(id) < MinName || len(id) > MaxName || !only(id, isIDByte) {
		e := FieldError(CodeInvalidField, "id", "must be %d to %d of A-Z a-z 0-9 . _ : -", MinName, MaxName)
		e.Limit = MaxName
		return e
	}
	return nil
}

// CheckBehaviorName checks a behavior's name (SPEC B1); nil or an *Error, which says that the name stands in field.
func CheckBehaviorName(field, name string) error { return checkBehaviorName(field, name).orNil() }

func checkBehaviorName(field, name string) *Error {
	if name == "" {
		return FieldError(CodeInvalidField, field, "is required")
	}
	if len(name) < MinName || len(name) > MaxName || !only(name, isBehaviorByte) {
		e := FieldError(CodeInvalidField, field, "must be %d to %d of a-z 0-9 . _ -", MinName, MaxName)
		e.Limit = MaxName
		return e
	}
	return nil
}

func checkLabels(labels map[string]string) *Error {
	if len(labels) > MaxLabels {
		return LimitError("labels", MaxLabels, "%d labels, at most %d", len(labels), MaxLabels)
	}
	for name, value := range labels {
		if name == "" || len(name) > MaxLabelName || strings.Contains(name, "=") || !utf8.ValidString(name) {
			e := FieldError(CodeInvalidField, "labels", "a name must be 1 to %d bytes without \"=\"", MaxLabelName)
			e.Limit = MaxLabelName
			return e
		}
		if len(value) > MaxLabelValue || !utf8.ValidString(value) {
			return LimitError("labels."+name, MaxLabelValue, "%d bytes, at most %d", len(value), MaxLabelValue)
		}
	}
	return nil
}

func only(s string, ok func(byte) bool) bool {
	for i := range len(s) {
		if !ok(s[i]) {
			return false
		}
	}
	return true
}

func isIDByte(c byte) bool { return isBehaviorByte(c) || c == ':' || 'A' <= c && c <= 'Z' }

func isBehaviorByte(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-'
}

// Until is the parsed form of GetOptions.Until (SPEC W1).
type Until struct {
	Kind string // final, running, waiting, success, failure, outcome, rev, attempt
	N    uint64 // rev:N, attempt:N
}

// ParseUntil parses GetOptions.Until; "" means final. The error is an *Error.
func ParseUntil(s string) (Until, error) {
	switch kind, number, has := strings.Cut(s, ":"); kind {
	case "":
		return Until{Kind: "final"}, nil
	case "final", "running", "waiting", "success", "failure", "outcome":
		if !has {
			return Until{Kind: kind}, nil
		}
	case "rev", "attempt":
		n, err := strconv.ParseUint(number, 10, 63)
		if err == nil {
			return Until{Kind: kind, N: n}, nil
		}
	}
	return Until{}, FieldError(CodeInvalidField, "until",
		"must be final, running, waiting, success, failure, outcome, rev:N or attempt:N")
}

// Check tells what is wrong with the options; nil or an *Error.
func (o GetOptions) Check() error {
	if _, err := ParseUntil(o.Until); err != nil {
		return err
	}
	if o.Wait < 0 || o.Wait > MaxWait*time.Second {
		e := FieldError(CodeInvalidField, "wait", "must be 0s to %v; ask again for a longer one", MaxWait*time.Second)
		e.Limit = MaxWait
		return e
	}
	return nil
}

// DefaultListLimit is how many entries a page has if the caller does not say it.
const DefaultListLimit = 100

// Check tells what is wrong with the filters, and fills in the namespace and the limit; nil or an *Error.
func (r *ListRequest) Check() error {
	var err *Error
	if r.Namespace, err = checkNamespace(r.Namespace); err != nil {
		return err
	}
	r.Statuses, r.Labels, r.Behaviors, r.Errors, r.Fields = given(r.Statuses), given(r.Labels), given(r.Behaviors), given(r.Errors), given(r.Fields)
	for _, s := range r.Statuses {
		if !slices.Contains(ListStatuses(), s) {
			return FieldError(CodeInvalidField, "status", "must be CREATED, RUNNING, SUCCESS, FAILURE, RETRYING or DEAD")
		}
	}
	for _, f := range []struct {
		field string
		texts []string
	}{{"behavior", r.Behaviors}, {"error", r.Errors}, {"fields", r.Fields}, {"id_prefix", []string{r.IDPrefix}}} {
		if err := checkFilter(f.field, f.texts); err != nil {
			return err
		}
	}
	for _, l := range r.Labels {
		if name, _, has := strings.Cut(l, "="); !has || name == "" {
			return FieldError(CodeInvalidField, "label", "must be name=value")
		}
	}
	if n := len(r.Labels); n > MaxLabels {
		e := FieldError(CodeInvalidField, "label", "%d labels, and a task has at most %d", n, MaxLabels)
		e.Limit = MaxLabels
		return e
	}
	if r.Limit == 0 {
		r.Limit = DefaultListLimit
	}
	if r.Limit < 0 || r.Limit > MaxListLimit {
		e := FieldError(CodeInvalidField, "limit", "must be 1 to %d", MaxListLimit)
		e.Limit = MaxListLimit
		return e
	}
	return nil
}

// ListStatuses are what a list of tasks can be asked for.
func ListStatuses() []string {
	return []string{"CREATED", "RUNNING", "SUCCESS", "FAILURE", "RETRYING", "DEAD"}
}

// maxFilter bounds the texts of one filter, and the bytes of each.
const maxFilter, maxFilterBytes = 64, 256

func checkFilter(field string, texts []string) *Error {
	if n := len(texts); n > maxFilter {
		e := FieldError(CodeInvalidField, field, "is given %d times, at most %d", n, maxFilter)
		e.Limit = maxFilter
		return e
	}
	for _, s := range texts {
		if len(s) > maxFilterBytes {
			e := FieldError(CodeInvalidField, field, "has %d bytes, at most %d", len(s), maxFilterBytes)
			e.Limit = maxFilterBytes
			return e
		}
	}
	return nil
}

// given returns the texts of a filter without empty ones, which say nothing, and without repeated ones.
func given(texts []string) []string {
	var out []string
	seen := map[string]bool{"": true}
	for _, s := range texts {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// CheckBatch refuses a batch that is too long; nil or an *Error.
func CheckBatch(rs []SubmitRequest) error {
	if len(rs) > MaxBatch {
		return LimitError("tasks", MaxBatch, "%d tasks, at most %d", len(rs), MaxBatch)
	}
	return nil
}
