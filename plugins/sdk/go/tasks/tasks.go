// Package tasks submits children. A child is a task that comes into being in one commit with the success of the attempt that submitted it.
// A module that imports the package requires the capability: its manifest says so by itself, and an upload is refused where the operator
// does not grant it (docs/capabilities.md).
package tasks

import (
	"maps"
	"slices"

	"github.com/taskrt/taskrt/abi"
	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/internal/host"
	"github.com/taskrt/taskrt/plugins/sdk/go/tinyjson"
)

func init() { sdk.Require(abi.CapabilityTasks) }

// Task is a child. Zero fields take the default.
type Task struct {
	Behavior string // required
	ID       string // "": by the behavior's strategy `params`, else a hash of the parent's ID, the attempt's token and the child's number

	// Params is JSON text as a []byte or a json.RawMessage. Where package sdkjson is linked, it may be any value that encoding/json
	// writes. nil: none.
	Params      any
	ParamsBytes []byte // any bytes, instead of Params; nil: none

	Labels    map[string]string
	Priority  int          // 1 to 9, or Lowest; zero: 4
	Delay     sdk.Duration // from the parent's success on
	NotBefore sdk.Time     // instead of Delay
	Deadline  sdk.Time
	IfExists  IfExists // what happens if a task of this ID exists
}

// Lowest as Task.Priority is the priority 0.
const Lowest = -1

// IfExists says what becomes of a child whose ID exists already.
type IfExists string

// With Join, the default, the existing task is the child. With Fail, the parent's attempt fails.
const (
	Join IfExists = "join"
	Fail IfExists = "fail"
)

// Submit keeps a child, and returns its number: 0, 1, … The child is submitted if this attempt succeeds; an attempt that ends in any
// other way has submitted nothing. What only the cluster can tell, such as whether the behavior exists, is decided with the success: if
// the cluster refuses a child, the attempt has failed with CHILD_REFUSED, retryable. Call Submit while a behavior runs, not in init.
// errors.Is finds these errors:
//
//   - sdk.ErrInvalid: the child is wrong; the error or the task's log says what is wrong
//   - sdk.ErrDenied: the operator does not grant this behavior such a submit
//   - sdk.ErrTooLarge: more than 64 KiB, 512 KiB in all, or 100 children
//   - sdk.ErrLeaseLost: another attempt may be running; stop
func Submit(t Task) (n int, err error) {
	text, err := t.encode()
	if err != nil {
		return 0, err
	}
	number := submit(text)
	if number < 0 {
		return 0, t.refused(abi.Errno(number))
	}
	return int(number), nil
}

// failure says which child could not be submitted.
type failure struct {
	behavior, why string
	err           error
}

func (f *failure) Error() string { return "child " + f.behavior + ": " + f.why }

func (f *failure) Unwrap() error { return f.err }

func (t *Task) invalid(why string) error { return &failure{t.Behavior, why, sdk.ErrInvalid} }

func (t *Task) refused(status abi.Errno) error {
	err := host.Installed.Error(status)
	why := err.Error()
	switch status {
	case abi.EDENIED:
		why = "not granted to this behavior"
	case abi.EINVAL:
		why = "refused as invalid: the task's log says why"
	}
	return &failure{t.Behavior, why, err}
}

// encode is the JSON of POST /v1/tasks.
func (t *Task) encode() ([]byte, error) {
	params, err := t.params()
	if err != nil {
		return nil, err
	}
	buf := str([]byte{'{'}, "behavior", t.Behavior)
	if t.ID != "" {
		buf = str(buf, "id", t.ID)
	}
	if params != nil {
		buf = append(tinyjson.AppendMember(buf, "params"), params...)
	}
	if t.ParamsBytes != nil {
		buf = str(buf, "params_base64", encodeBase64(t.ParamsBytes))
	}
	if len(t.Labels) > 0 {
		buf = append(tinyjson.AppendMember(buf, "labels"), '{')
		for _, name := range slices.Sorted(maps.Keys(t.Labels)) {
			buf = str(buf, name, t.Labels[name])
		}
		buf = append(buf, '}')
	}
	if t.Priority != 0 {
		p := int64(t.Priority)
		if t.Priority == Lowest {
			p = 0
		}
		buf = tinyjson.AppendInt(tinyjson.AppendMember(buf, "priority"), p)
	}
	if buf, err = t.times(buf); err != nil {
		return nil, err
	}
	if t.IfExists != "" {
		buf = str(buf, "if_exists", string(t.IfExists))
	}
	return append(buf, '}'), nil
}

func str(buf []byte, name, value string) []byte {
	return tinyjson.AppendString(tinyjson.AppendMember(buf, name), value)
}

// params returns JSON, or nil. A text that is not JSON must not become a part of the text around it.
func (t *Task) params() ([]byte, error) {
	var text []byte
	var err error
	switch v := t.Params.(type) {
	case nil:
		return nil, nil
	case []byte:
		text = v
	case interface{ MarshalJSON() ([]byte, error) }:
		text, err = v.MarshalJSON()
	default:
		if host.MarshalJSON == nil {
			return nil, t.invalid("params: import package sdkjson, or give JSON as a []byte")
		}
		text, err = host.MarshalJSON(v)
	}
	if text == nil && err == nil {
		return nil, nil
	}
	if err == nil {
		_, err = tinyjson.Parse(text)
	}
	if err != nil {
		return nil, t.invalid("params: " + err.Error())
	}
	return text, nil
}

// times appends when the child runs. A delay is rounded up, so that the child never starts earlier than asked.
func (t *Task) times(buf []byte) ([]byte, error) {
	if t.Delay != 0 {
		up := t.Delay.Milliseconds()
		if t.Delay%sdk.Millisecond > 0 {
			up++
		}
		buf = str(buf, "delay", string(tinyjson.AppendInt(nil, up))+"ms")
	}
	for _, at := range []struct {
		name string
		time sdk.Time
	}{{"not_before", t.NotBefore}, {"deadline", t.Deadline}} {
		if at.time == 0 {
			continue
		}
		if at.time < 0 || at.time > maxTime {
			return nil, t.invalid(at.name + ": out of range: 1970 to 9999")
		}
		buf = append(append(tinyjson.AppendMember(buf, at.name), '"'), formatTime(at.time)...)
		buf = append(buf, '"')
	}
	return buf, nil
}
