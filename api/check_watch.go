package api

import (
	"slices"
	"strconv"
	"time"
)

// Check tells what is wrong with the request by itself and fills in namespace, mode and timeout; nil or an *Error.
func (r *WaitRequest) Check() error {
	var err *Error
	if r.Namespace, err = checkNamespace(r.Namespace); err != nil {
		return err
	}
	if len(r.IDs) == 0 {
		return FieldError(CodeInvalidField, "ids", "is required: 1 to %d", MaxWaitIDs)
	}
	if err := checkIDs("ids", r.IDs); err != nil {
		return err
	}
	if r.Mode == "" {
		r.Mode = "all"
	}
	if r.Mode != "all" && r.Mode != "any" {
		return FieldError(CodeInvalidField, "mode", "must be all or any")
	}
	if _, err := ParseUntil(r.Until); err != nil {
		return err
	}
	if r.Timeout == nil {
		r.Timeout = new(Duration(MaxWait * time.Second))
	}
	if *r.Timeout < 0 || *r.Timeout > Duration(MaxWait*time.Second) {
		e := FieldError(CodeInvalidField, "timeout", "must be 0s to %v; ask again for a longer one", MaxWait*time.Second)
		e.Limit = MaxWait
		return e
	}
	return nil
}

// checkIDs checks a list of IDs. Each ID may stand in the list once.
func checkIDs(field string, ids []string) *Error {
	if len(ids) > MaxWaitIDs {
		return LimitError(field, MaxWaitIDs, "%d of them, at most %d", len(ids), MaxWaitIDs)
	}
	seen := make(map[string]int, len(ids))
	for i, id := range ids {
		at := field + "[" + strconv.Itoa(i) + "]"
		if err := checkID(id); err != nil {
			err.Field = at
			return err
		}
		if before, twice := seen[id]; twice {
			return FieldError(CodeInvalidField, at, "is the same as %s[%d]", field, before)
		}
		seen[id] = i
	}
	return nil
}

// Check tells what is wrong with the filters and fills in the namespace; nil or an *Error.
func (r *EventsRequest) Check() error {
	var err *Error
	if r.Namespace, err = checkNamespace(r.Namespace); err != nil {
		return err
	}
	if r.Behavior != "" {
		if err := checkBehaviorName("behavior", r.Behavior); err != nil {
			return err
		}
	}
	if r.Parent != "" {
		if err := checkID(r.Parent); err != nil {
			err.Field = "parent"
			return err
		}
	}
	if !slices.Contains([]string{"", "CREATED", "RUNNING", "SUCCESS", "FAILURE"}, r.Status) {
		return FieldError(CodeInvalidField, "status", "must be CREATED, RUNNING, SUCCESS or FAILURE")
	}
	return checkIDs("id", r.IDs).orNil()
}
