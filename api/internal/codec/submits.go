package codec

import (
	"encoding/json"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/scan"
)

// Submits is a body of POST /v1/tasks: one task, or many.
type Submits struct {
	One       api.SubmitRequest
	Many      bool
	Namespace string          // of the batch
	Items     []Submit        // the tasks of the batch
	list      json.RawMessage // the list of the batch, if it was not read yet
	take      func() *api.Error
	full      *api.Error // the error of take
}

// Submit is one task of a batch: decoded, or as it stands in the body, which is valid JSON.
type Submit struct {
	Request api.SubmitRequest
	raw     []byte
}

// These bound the memory of a batch. Each task takes room in memory, however short its text is: ten thousand `{},` have 30 KiB.
// So tasks count among the bodies that are held, someItems at a time.
const (
	itemBytes = 1 << 10
	someItems = 64
	ItemsRoom = someItems * itemBytes // the room that one call of take takes, in bytes
)

// DecodeSubmits decodes a body. Most bodies are written plainly, and are read in one pass. DecodeSubmits leaves a body that is
// unusual or wrong to the decoder of all bodies, which words the errors. take takes room for someItems tasks, or refuses.
func DecodeSubmits(body []byte, take func() *api.Error) (t Submits, err *api.Error) {
	t.take = take
	if t.read(body) {
		return t, nil
	}
	if t.full != nil {
		return t, t.full
	}
	return decodeAnySubmits(body, take)
}

func decodeAnySubmits(body []byte, take func() *api.Error) (t Submits, err *api.Error) {
	t.take = take
	if err := api.CheckJSON(body); err != nil {
		return t, err
	}
	err = eachMember(body, "", func(name string, _ []byte) *api.Error {
		t.Many = t.Many || name == "tasks"
		return nil
	})
	switch {
	case err != nil:
	case !t.Many:
		err = Strict.object(body, &t.One, "")
	default:
		var envelope struct { // SubmitMany, whose tasks are decoded one by one
			Namespace string          `json:"namespace"`
			Tasks     json.RawMessage `json:"tasks"`
		}
		err = Strict.object(body, &envelope, "")
		t.Namespace, t.list = envelope.Namespace, envelope.Tasks
	}
	return t, err
}

// Split splits the list of a batch into its items, if it was not read yet.
func (t *Submits) Split() *api.Error {
	if t.list == nil {
		return nil
	}
	if t.list[0] != '[' {
		return api.FieldError(api.CodeInvalidField, "tasks", "must be a list")
	}
	items := 0
	eachElement(t.list, func(i int, _ []byte) bool { items = i + 1; return i <= api.MaxBatch })
	if items > api.MaxBatch { // counted before anything is decoded: 8 MiB of `{},` would take much more memory
		return api.LimitError("tasks", api.MaxBatch, "more than %d tasks", api.MaxBatch)
	}
	for n := 0; n < items; n += someItems {
		if err := t.take(); err != nil {
			return err
		}
	}
	t.Items = make([]Submit, 0, items)
	eachElement(t.list, func(_ int, value []byte) bool {
		t.Items = append(t.Items, Submit{raw: value})
		return true
	})
	return nil
}

// Decode decodes an item. ns is the namespace that is given for all items, or "".
func (i *Submit) Decode(ns string) *api.Error {
	if i.raw != nil {
		if i.raw[0] != '{' {
			return api.NewError(api.CodeInvalidJSON, "a task must be an object")
		}
		if err := Strict.object(i.raw, &i.Request, ""); err != nil {
			return err
		}
	}
	return TakeNamespace(&i.Request, ns)
}

// TakeNamespace takes in the namespace that came beside a request, or "". The Service checks everything else.
func TakeNamespace(r *api.SubmitRequest, ns string) *api.Error {
	if r.Namespace == "" {
		r.Namespace = ns
	}
	if ns != "" && r.Namespace != ns {
		return api.FieldError(api.CodeInvalidField, "namespace", "differs from the query parameter")
	}
	return nil
}

// submitReader reads submits that are written plainly. Their params lie in the body: to copy the params would cost more than to
// read everything else.
type submitReader struct {
	values
	behavior, namespace string // the last ones read: most tasks of a body have the same
}

// read reads a plain body. False means that the body is not plain.
func (t *Submits) read(body []byte) bool {
	s := submitReader{values: values{scan.New(body)}}
	s.Space()
	seen, ok := s.request(&t.One, 1, func() bool { return s.tasks(t) })
	if !ok || !s.Whole() {
		return false
	}
	if t.Many = seen&hasTasks != 0; t.Many {
		t.Namespace = t.One.Namespace
		return seen&^(hasTasks|hasNamespace) == 0
	}
	return true
}

// tasks reads the list of a batch.
func (s *submitReader) tasks(t *Submits) bool {
	const depth = 2 // at which the tasks stand in the body
	t.Items = []Submit{}
	return s.Elements(func() bool {
		if len(t.Items) == api.MaxBatch {
			return false
		}
		if len(t.Items)%someItems == 0 {
			if t.full = t.take(); t.full != nil {
				return false
			}
		}
		from := s.Pos()
		t.Items = append(t.Items, Submit{})
		item := &t.Items[len(t.Items)-1]
		if _, plain := s.request(&item.Request, depth+1, nil); plain {
			return true
		}
		s.Back(from)
		ok := s.Value(depth)
		*item = Submit{raw: s.Since(from)}
		return ok
	})
}

// hasTasks is a bit beside those of the members of a submit: the body is a batch.
const hasTasks = 1 << 31

// request reads an object at this depth. tasks, if not nil, reads the value of a member "tasks". seen has the fields of the
// object.
func (s *submitReader) request(r *api.SubmitRequest, depth int, tasks func() bool) (seen int, ok bool) {
	ok = s.Members(func(name []byte) bool {
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

// raw keeps a value where it is.
func (s *submitReader) raw(to *json.RawMessage, depth int) bool {
	from := s.Pos()
	ok := s.Value(depth)
	*to = s.Since(from)
	return ok
}
