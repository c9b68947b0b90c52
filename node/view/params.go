package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task"
)

// The params of an operation's tasks, by role (SPEC O1, O3). They do not stand in the tasks' records: a hundred
// thousand copies of one argument would fill the memory. They are made of the operation's record whenever somebody
// looks at a task or runs it.
type (
	partitionParams struct {
		Operation string          `json:"operation"` // ID
		Partition string          `json:"partition"` // name
		Target    string          `json:"target"`
		Object    string          `json:"object"`
		Arg       json.RawMessage `json:"arg"`
	}
	completionParams struct {
		Operation string              `json:"operation"`
		Success   bool                `json:"success"` // every partition succeeded
		Counts    api.OperationCounts `json:"counts"`
		Target    string              `json:"target"`
		Object    string              `json:"object"`
		Arg       json.RawMessage     `json:"arg"`
	}
	cleanupParams struct {
		partitionParams
		Token uint64 `json:"token"` // of the lease under which the partition ran
	}
)

// Params composes the params of a task that belongs to an operation. Other tasks have their own. If the operation is
// gone there are none.
func Params(m *task.Machine, t *task.Task) task.Payload {
	if t.Role == task.RoleNone {
		return t.Params
	}
	o := m.OperationOf(t)
	if o == nil {
		return task.Payload{}
	}
	return ParamsOf(o, t)
}

// ParamsOf composes the params of a task of operation o.
func ParamsOf(o *task.Operation, t *task.Task) task.Payload {
	p := partitionParams{Operation: o.ID, Partition: t.Partition, Target: o.Target, Object: o.Object, Arg: argOf(o)}
	var v any = p
	switch t.Role {
	case task.RoleCompletion:
		v = completionParams{
			Operation: o.ID, Success: o.Counts.Success == o.Partitions, Counts: countsOf(o), Target: o.Target, Object: o.Object, Arg: p.Arg,
		}
	case task.RoleCleanup:
		v = cleanupParams{p, tokenOf(t.ID)}
	case task.RoleNone, task.RolePartition:
	}
	named := o.Arg.Blobs
	if named != nil && named.Content != "" {
		named = &task.Blobs{Named: []string{named.Content}} // the reference stands in the text now
	}
	return task.Payload{Encoding: task.JSON, Data: Compact(v), Blobs: named}
}

// argOf returns the operation's argument as its tasks are shown it. An argument that is a blob stands there as a
// reference.
func argOf(o *task.Operation) json.RawMessage {
	arg, _ := Payload(o.Arg)
	if arg == nil {
		return json.RawMessage("null")
	}
	return arg
}

// tokenOf returns the token that a cleanup's ID ends with.
func tokenOf(id string) uint64 {
	token, _ := strconv.ParseUint(id[strings.LastIndexByte(id, ':')+1:], 10, 64)
	return token
}

// WithParams returns the task as a worker needs it: with its params.
func WithParams(m *task.Machine, t *task.Task) *task.Task {
	if t.Role == task.RoleNone {
		return t
	}
	whole := *t
	whole.Params = Params(m, t)
	return &whole
}

// Composed counts the bytes of params that are composed for one answer: in a page of tasks that share an argument, each
// has a copy of it.
type Composed struct{ bytes int }

// maxComposed bounds Composed. An argument has at most 64 KiB.
const maxComposed = 1 << 20

// Add counts the params of a task as it is shown. It returns true if the answer should have no more.
func (c *Composed) Add(t *task.Task, shown *api.Task) bool {
	if t.Role != task.RoleNone {
		c.bytes += len(shown.Params)
	}
	return c.Full()
}

// Full reports whether an answer should have no more composed params.
func (c *Composed) Full() bool { return c.bytes >= maxComposed }

// Page shows tasks, at least one, until their params are enough for one answer. The other tasks are for the next page.
func (v State) Page(ts []*task.Task, params *Composed) []*api.Task {
	page := make([]*api.Task, 0, len(ts))
	for _, t := range ts {
		shown := v.Task(t)
		if page = append(page, shown); params.Add(t, shown) {
			break
		}
	}
	return page
}

// Compact writes JSON with <, > and & as they are.
func Compact(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("view: %T: %v", v, err)) // payloads are checked when they come in
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}
