package api

import (
	"encoding/json"
	"unicode/utf8"
)

// tasksBody is a body of POST /v1/tasks: one task, or many.
type tasksBody struct {
	one       SubmitRequest
	many      bool
	namespace string          // of the many
	items     []taskItem      // the many
	list      json.RawMessage // the many, not looked at yet
	take      func() bool
	full      bool // take said so
}

// taskItem is one of many: decoded, or as it stands in the body, valid JSON.
type taskItem struct {
	request SubmitRequest
	raw     []byte
}

// Each task of a batch takes room in memory however short its text is: ten thousand of `{},` are 30 KiB. So a task counts among the
// bodies that are held, some tasks at a time.
const (
	itemBytes = 1 << 10
	someItems = 64
)

// decodeTasks decodes a body. Most are written plainly: those are read in one pass. Whatever is unusual, or wrong, is left to
// the decoder of all bodies, which words the errors. take takes room for someItems, or says that there is none.
func decodeTasks(body []byte, take func() bool) (t tasksBody, err *Error) {
	t.take = take
	if t.read(body) {
		return t, nil
	}
	if t.full {
		return t, tooManyBodies()
	}
	return decodeAnyTasks(body, take)
}

func decodeAnyTasks(body []byte, take func() bool) (t tasksBody, err *Error) {
	t.take = take
	if err := checkJSON(body); err != nil {
		return t, err
	}
	err = eachMember(body, "", func(name string, _ []byte) *Error {
		t.many = t.many || name == "tasks"
		return nil
	})
	switch {
	case err != nil:
	case !t.many:
		err = strict.object(body, &t.one, "")
	default:
		var envelope struct { // submitMany, whose tasks are decoded one by one
			Namespace string          `json:"namespace"`
			Tasks     json.RawMessage `json:"tasks"`
		}
		err = strict.object(body, &envelope, "")
		t.namespace, t.list = envelope.Namespace, envelope.Tasks
	}
	return t, err
}

// split splits a list that was not looked at yet into its items.
func (t *tasksBody) split() *Error {
	if t.list == nil {
		return nil
	}
	if t.list[0] != '[' {
		return FieldError(CodeInvalidField, "tasks", "must be a list")
	}
	items := 0
	eachElement(t.list, func(i int, _ []byte) bool { items = i + 1; return i <= MaxBatch })
	if items > MaxBatch { // counted before anything is decoded: 8 MiB of `{},` would be much more in memory
		return LimitError("tasks", MaxBatch, "more than %d tasks", MaxBatch)
	}
	for n := 0; n < items; n += someItems {
		if !t.take() {
			return tooManyBodies()
		}
	}
	t.items = make([]taskItem, 0, items)
	eachElement(t.list, func(_ int, value []byte) bool {
		t.items = append(t.items, taskItem{raw: value})
		return true
	})
	return nil
}

// decode decodes an item; ns is the namespace that is given for all of them, "" if none.
func (i *taskItem) decode(ns string) *Error {
	if i.raw != nil {
		if i.raw[0] != '{' {
			return NewError(CodeInvalidJSON, "a task must be an object")
		}
		if err := strict.object(i.raw, &i.request, ""); err != nil {
			return err
		}
	}
	return i.request.in(ns)
}

// in takes in the namespace that came beside the request, "" if none. The Service checks the rest.
func (r *SubmitRequest) in(ns string) *Error {
	if r.Namespace == "" {
		r.Namespace = ns
	}
	if ns != "" && r.Namespace != ns {
		return FieldError(CodeInvalidField, "namespace", "differs from the query parameter")
	}
	return nil
}

// submits reads what is plain. Params lie in the body: a copy of each would cost more than the rest of it.
type submits struct {
	scanner
	behavior, namespace string // the last ones: most tasks of a body have the same
}

// read reads a plain body; false: it is something else.
func (t *tasksBody) read(body []byte) bool {
	s := submits{scanner: scanner{b: body}}
	s.space()
	seen, ok := s.request(&t.one, 1, func() bool { return s.tasks(t) })
	if !ok || !s.end() || !utf8.Valid(body) {
		return false
	}
	if t.many = seen&hasTasks != 0; t.many {
		t.namespace = t.one.Namespace
		return seen&^(hasTasks|hasNamespace) == 0
	}
	return true
}

// tasks reads the list of a batch.
func (s *submits) tasks(t *tasksBody) bool {
	const depth = 2 // of the list in the body
	t.items = []taskItem{}
	return s.elements(func() bool {
		if len(t.items) == MaxBatch {
			return false
		}
		if t.full = len(t.items)%someItems == 0 && !t.take(); t.full {
			return false
		}
		from := s.i
		t.items = append(t.items, taskItem{})
		item := &t.items[len(t.items)-1]
		if _, plain := s.request(&item.request, depth+1, nil); plain {
			return true
		}
		s.i = from
		ok := s.value(depth)
		*item = taskItem{raw: s.b[from:s.i]}
		return ok
	})
}

// Fields that a body has.
const (
	hasNamespace = 1 << iota
	hasBehavior
	hasID
	hasParams
	hasParamsBase64
	hasIfExists
	hasNotBefore
	hasDelay
	hasDeadline
	hasLabels
	hasPriority
	hasTasks
)

// request reads an object at that depth; tasks, if not nil, reads the value of a member of that name.
func (s *submits) request(r *SubmitRequest, depth int, tasks func() bool) (seen int, ok bool) {
	ok = s.members(func(name []byte) bool {
		var field int
		var ok bool
		if string(name) == "tasks" && tasks != nil {
			field, ok = hasTasks, tasks()
		} else {
			field, ok = s.field(r, name, depth)
		}
		if !ok || seen&field != 0 {
			return false
		}
		seen |= field
		return true
	})
	return seen, ok
}

// field reads the value of a member, if it is plain.
func (s *submits) field(r *SubmitRequest, name []byte, depth int) (field int, ok bool) {
	switch string(name) {
	case "namespace":
		return hasNamespace, s.known(&r.Namespace, &s.namespace)
	case "behavior":
		return hasBehavior, s.known(&r.Behavior, &s.behavior)
	case "id":
		return hasID, s.string(&r.ID)
	case "params":
		return hasParams, s.params(r, depth)
	case "params_base64":
		return hasParamsBase64, s.base64(&r.ParamsBase64)
	case "if_exists":
		return hasIfExists, s.string(&r.IfExists)
	case "not_before":
		return hasNotBefore, s.timeOrNil(&r.NotBefore)
	case "delay":
		return hasDelay, s.duration(&r.Delay)
	case "deadline":
		return hasDeadline, s.timeOrNil(&r.Deadline)
	case "labels":
		return hasLabels, s.labels(&r.Labels)
	case "priority":
		return hasPriority, s.priority(&r.Priority)
	}
	return 0, false
}

func (s *submits) params(r *SubmitRequest, depth int) bool {
	from := s.i
	ok := s.value(depth)
	r.Params = s.b[from:s.i:s.i]
	return ok
}

func (s *submits) priority(to **int) bool {
	var n int64
	ok := s.int(&n)
	*to = new(int(n))
	return ok
}
