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

// The params of an operation's tasks, by role (SPEC O1, O3). They are not in the tasks' records: a hundred thousand copies
// of one argument would fill the memory. They are made of the operation's whenever somebody looks at a task or runs it.
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

// Params composes the params of a task that belongs to an operation; another task has its own. None if the operation is gone.
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
		named = &task.Blobs{Named: []string{named.Content}} // it stands in the text now
	}
	return task.Payload{Encoding: task.JSON, Data: Compact(v), Blobs: named}
}

// argOf is the operation's argument as its tasks are shown it: what is a blob stands there as a reference.
func argOf(o *task.Operation) json.RawMessage {
	arg, _ := Payload(o.Arg)
	if arg == nil {
		return json.RawMessage("null")
	}
	return arg
}

// tokenOf is the last part of a cleanup's ID.
func tokenOf(id string) uint64 {
	token, _ := strconv.ParseUint(id[strings.LastIndexByte(id, ':')+1:], 10, 64)
	return token
}

// WithParams returns the task as whoever runs it needs it: with its params.
func WithParams(m *task.Machine, t *task.Task) *task.Task {
	if t.Role == task.RoleNone {
		return t
	}
	whole := *t
	whole.Params = Params(m, t)
	return &whole
}

// Composed counts the params that are composed for one answer: of a page of tasks that share one argument, each has a copy.
type Composed struct{ bytes int }

// maxComposed bounds them. An argument has at most 64 KiB.
const maxComposed = 1 << 20

// Add counts those of a task as it is shown; true when an answer should have no more.
func (c *Composed) Add(t *task.Task, shown *api.Task) bool {
	if t.Role != task.RoleNone {
		c.bytes += len(shown.Params)
	}
	return c.Full()
}

// Full reports whether an answer should have no more of them.
func (c *Composed) Full() bool { return c.bytes >= maxComposed }

// Page shows tasks, at least one of them, until their params are too much for one answer: the others are for the next page.
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

// Compact is JSON with <, > and & as they are.
func Compact(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("view: %T: %v", v, err)) // payloads are checked when they come in
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}
