package api

import (
	"strings"
	"time"
)

// MaxQuota bounds quotas to numbers that all readers of JSON keep exactly. MaxSubmitRate bounds submits_per_second.
const (
	MaxQuota      = 1 << 53
	MaxWeight     = 100
	MaxSubmitRate = 1_000_000_000
)

// CheckNamespaceName checks the name of a namespace that may exist; nil or an *Error.
func CheckNamespaceName(name string) error {
	if name == "" {
		return FieldError(CodeInvalidField, "name", "is required")
	}
	if _, err := checkNamespace(name); err != nil {
		err.Field = "name"
		return err
	}
	return nil
}

// CheckUserNamespace refuses the system's namespaces, and names that no namespace can have, for requests with which users
// submit, define or delete something (SPEC N1); nil or an *Error. "" is the default namespace.
func CheckUserNamespace(name string) error {
	_, err := userNamespace(name)
	return err.orNil()
}

// userNamespace is checkNamespace for requests that users may not make in the system's namespaces.
func userNamespace(ns string) (string, *Error) {
	ns, err := checkNamespace(ns)
	if err == nil && ns[0] == '_' {
		err = FieldError(CodeNamespaceReserved, "namespace", "%s is the system's: namespaces that begin with _ are for what is built in", ns)
	}
	return ns, err
}

// checkNewNamespace checks the name of a namespace that is to be made. Names that begin with _ pass: they are the system's, and
// the cluster refuses them (SPEC N1).
func checkNewNamespace(name string) *Error {
	letter := func(c byte) bool { return 'a' <= c && c <= 'z' }
	rest := func(c byte) bool { return letter(c) || '0' <= c && c <= '9' || c == '-' || c == '_' }
	if len(name) < MinName || len(name) > MaxNamespace || !letter(name[0]) && name[0] != '_' || !only(name, rest) {
		e := FieldError(CodeInvalidField, "name", "must be %d to %d of a-z 0-9 - _, beginning with a letter", MinName, MaxNamespace)
		e.Limit = MaxNamespace
		return e
	}
	return nil
}

// CheckNew is Check for a namespace that is to be made.
func (s *NamespaceSettings) CheckNew() error {
	if err := checkNewNamespace(s.Name); err != nil {
		return err
	}
	return s.Check()
}

// Check tells what is wrong with settings by themselves; nil or an *Error.
func (s *NamespaceSettings) Check() error {
	if err := CheckNamespaceName(s.Name); err != nil {
		return err
	}
	if q := s.Quota; q != nil {
		for _, f := range []struct {
			name       string
			value, max int64
		}{{"max_tasks", q.MaxTasks, MaxQuota}, {"max_bytes", q.MaxBytes, MaxQuota}, {"submits_per_second", q.SubmitsPerSecond, MaxSubmitRate}} {
			if f.value < 0 || f.value > f.max {
				return rangeError("quota."+f.name, f.max, "must be 0, for no limit, to %d", f.max)
			}
		}
	}
	if x := s.Share; x != nil {
		if x.Weight < 0 || x.Weight > MaxWeight {
			return rangeError("share.weight", MaxWeight, "must be 1 to %d, or 0 for the default", MaxWeight)
		}
		if x.MaxRunning < 0 || x.MaxRunning > MaxQuota {
			return rangeError("share.max_running", MaxQuota, "must be 0, for no limit, to %d", int64(MaxQuota))
		}
	}
	if r := s.Retention; r != nil {
		for _, f := range []struct {
			name string
			keep Keep
		}{{"success", r.Success}, {"failure", r.Failure}} {
			if f.keep.For != 0 && time.Duration(f.keep.For) < time.Millisecond {
				return FieldError(CodeInvalidField, "retention."+f.name, "must be at least 1ms, or never")
			}
		}
		if r.Count < 0 || r.Count > MaxQuota {
			return rangeError("retention.count", MaxQuota, "must be 0, for the default, to %d", int64(MaxQuota))
		}
	}
	return nil
}

// CheckStatus checks a status that a namespace may be given; nil or an *Error.
func CheckStatus(status string) error {
	switch status {
	case NamespaceActive, NamespaceInactive, NamespacePurging:
		return nil
	}
	return FieldError(CodeInvalidField, "status", "must be %s", strings.Join([]string{NamespaceActive, NamespaceInactive, NamespacePurging}, ", "))
}
