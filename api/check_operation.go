package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/taskrt/taskrt/internal/jsontext"
)

// Limits of operations (SPEC O1).
const (
	MaxOperationID    = 100 // characters: the IDs of its tasks are longer
	MaxPartitions     = 100_000
	MaxPartitionName  = 128       // bytes
	MaxPartitionNames = 256 << 10 // bytes of all names of an operation
	MaxTarget         = 256       // bytes of target, and of object
)

// MarshalJSON writes the number, or the names.
func (p Partitions) MarshalJSON() ([]byte, error) {
	if p.Names != nil {
		return json.Marshal(p.Names)
	}
	return strconv.AppendInt(nil, p.Count, 10), nil
}

// UnmarshalJSON reads a number or a list of names.
func (p *Partitions) UnmarshalJSON(b []byte) error {
	*p = Partitions{}
	if len(b) > 0 && b[0] == '[' {
		p.Names = []string{}
		if err := json.Unmarshal(b, &p.Names); err != nil || bytes.Contains(b, []byte("null")) && hasNull(b) {
			return fmt.Errorf("must be a number, or a list of names: every name a string")
		}
		p.Count = int64(len(p.Names))
		return nil
	}
	whole, _ := jsontext.Integer(string(b))
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return fmt.Errorf("must be a whole number, or a list of names")
	}
	p.Count = n
	return nil
}

// hasNull reports whether a JSON list has an element null. encoding/json would read it as "".
func hasNull(b []byte) bool {
	var elements []*string
	return json.Unmarshal(b, &elements) == nil && slices.Contains(elements, nil)
}

// Check tells what is wrong with the request by itself and brings it into its one form; nil or an *Error.
func (r *StartOperationRequest) Check() error { return r.check().orNil() }

func (r *StartOperationRequest) check() *Error {
	var err *Error
	if r.Namespace, err = userNamespace(r.Namespace); err != nil {
		return err
	}
	if err := checkBehaviorName("behavior", r.Behavior); err != nil {
		return err
	}
	if r.ID != "" {
		if err := checkOperationID(r.ID); err != nil {
			return err
		}
	}
	if err := checkAim("target", r.Target); err != nil {
		return err
	}
	if err := checkAim("object", r.Object); err != nil {
		return err
	}
	if err := r.Partitions.check(); err != nil {
		return err
	}
	if err := checkInline("arg", &r.Arg); err != nil {
		return err
	}
	if err := checkPriority(r.Priority); err != nil {
		return err
	}
	return checkLabels(r.Labels)
}

func (p *Partitions) check() *Error {
	if p.Names != nil {
		p.Count = int64(len(p.Names))
	}
	if p.Count < 1 || p.Count > MaxPartitions {
		return rangeError("partitions", MaxPartitions, "must be 1 to %d, or as many names", MaxPartitions)
	}
	seen, total := make(map[string]bool, len(p.Names)), 0
	for i, name := range p.Names {
		if name == "" || len(name) > MaxPartitionName || !printable(name) {
			return rangeError(fmt.Sprintf("partitions[%d]", i), MaxPartitionName,
				"a name must be 1 to %d bytes of UTF-8 without control characters", MaxPartitionName)
		}
		if seen[name] {
			return FieldError(CodeInvalidField, fmt.Sprintf("partitions[%d]", i), "%q stands twice", name)
		}
		seen[name] = true
		total += len(name)
	}
	if total > MaxPartitionNames {
		return LimitError("partitions", MaxPartitionNames, "the names take %d bytes, at most %d", total, MaxPartitionNames)
	}
	return nil
}

// checkAim checks target or object, which may be empty.
func checkAim(field, s string) *Error {
	if len(s) > MaxTarget || !printable(s) {
		return rangeError(field, MaxTarget, "must be at most %d bytes of UTF-8 without control characters", MaxTarget)
	}
	return nil
}

func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// CheckOperationID checks an operation's ID; nil or an *Error.
func CheckOperationID(id string) error { return checkOperationID(id).orNil() }

// checkOperationID checks an operation's ID: it is like a task's ID, but shorter, and without the colon, which stands in the
// IDs of the operation's tasks.
func checkOperationID(id string) *Error {
	named := func(c byte) bool { return c != ':' && isIDByte(c) }
	if len(id) < MinName || len(id) > MaxOperationID || !only(id, named) {
		return rangeError("id", MaxOperationID, "must be %d to %d of A-Z a-z 0-9 . _ -", MinName, MaxOperationID)
	}
	return nil
}

// operationStatuses are the statuses of operations.
var operationStatuses = []string{"RUNNING", "COMPLETING", "SUCCESS", "FAILURE"}

// Check tells what is wrong with the filters, and fills in the namespace and the limit; nil or an *Error.
func (r *OperationsRequest) Check() error {
	var err *Error
	if r.Namespace, err = checkNamespace(r.Namespace); err != nil {
		return err
	}
	if r.Status != "" && !slices.Contains(operationStatuses, r.Status) {
		return FieldError(CodeInvalidField, "status", "must be RUNNING, COMPLETING, SUCCESS or FAILURE")
	}
	return checkLimit(&r.Limit).orNil()
}

// Check tells what is wrong with the request, and fills in the namespace and the limit; nil or an *Error.
func (r *PartitionsRequest) Check() error {
	var err *Error
	if r.Namespace, err = checkNamespace(r.Namespace); err != nil {
		return err
	}
	if err := checkOperationID(r.ID); err != nil {
		return err
	}
	if !slices.Contains([]string{"", "CREATED", "RUNNING", "SUCCESS", "FAILURE"}, r.Status) {
		return FieldError(CodeInvalidField, "status", "must be CREATED, RUNNING, SUCCESS or FAILURE")
	}
	return checkLimit(&r.Limit).orNil()
}

// checkLimit checks how many entries a page may have, and fills in the default.
func checkLimit(limit *int) *Error {
	if *limit == 0 {
		*limit = DefaultListLimit
	}
	if *limit < 0 || *limit > MaxListLimit {
		return rangeError("limit", MaxListLimit, "must be 1 to %d", MaxListLimit)
	}
	return nil
}

// Check tells what is wrong with the options; nil or an *Error.
func (o OperationGet) Check() error {
	if _, err := ParseOperationUntil(o.Until); err != nil {
		return err
	}
	if o.Wait < 0 || o.Wait > MaxWait*time.Second {
		return rangeError("wait", MaxWait, "must be 0s to %v; ask again for a longer one", MaxWait*time.Second)
	}
	return nil
}

// ParseOperationUntil parses OperationGet.Until; "" means final. The error is an *Error.
func ParseOperationUntil(s string) (Until, error) {
	switch kind, number, has := strings.Cut(s, ":"); {
	case s == "":
		return Until{Kind: "final"}, nil
	case s == "final", s == "completing":
		return Until{Kind: s}, nil
	case kind == "rev" && has:
		if n, err := strconv.ParseUint(number, 10, 63); err == nil {
			return Until{Kind: kind, N: n}, nil
		}
	}
	return Until{}, FieldError(CodeInvalidField, "until", "must be final, completing or rev:N")
}
