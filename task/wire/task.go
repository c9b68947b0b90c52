package wire

import (
	"bytes"
	"sync"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire/head"
)

// AppendTask appends the encoding of one task: CBOR with integer keys, as in snapshots.
func AppendTask(b []byte, t *task.Task) ([]byte, error) {
	if b, ok := appendTask(b, t); ok {
		return b, nil
	}
	return appendByLibrary(b, t)
}

// knownNames are the names of values that were decoded one by one.
var knownNames = sync.Pool{New: func() any { return new(names) }}

// DecodeTask decodes what AppendTask wrote, here or in a newer version: it passes over fields that this build does not
// know. Snapshots and the log must not be read like this. Nothing in the answer refers to b.
func DecodeTask(b []byte) (*task.Task, error) {
	shared := knownNames.Get().(*names)
	defer knownNames.Put(shared)
	if t := readTask(b, shared); t != nil {
		return t, nil
	}
	t := new(task.Task)
	if err := cborModes.lenient.Unmarshal(b, t); err != nil {
		return nil, malformed(err)
	}
	return t, nil
}

// TaskNames returns the namespace, the ID and the behavior of a task that AppendTask of this build wrote. The names are parts of b.
func TaskNames(b []byte) (namespace, id, behavior []byte) {
	r := reader{b: b}
	r.head(head.Map)
	for _, field := range [...]struct {
		key   byte
		value *[]byte
	}{{1, &namespace}, {2, &id}, {3, &behavior}} {
		if r.uint() != uint64(field.key) {
			r.bad = true
		}
		*field.value = r.part(head.Text)
	}
	if r.bad {
		panic("wire: no task begins like this")
	}
	return namespace, id, behavior
}

// readTask reads b without the library. If it returns nil, the library has to read b.
func readTask(b []byte, shared *names) *task.Task {
	r := reader{b: b, names: shared}
	t := r.task()
	if r.bad || len(r.b) > 0 {
		return nil
	}
	return t
}

// ReadTask reads a task at the start of b, and returns the bytes behind it. It returns nil if the task is not written as AppendTask of
// this build writes it; then only DecodeTask can tell what it is. Nothing in the answer refers to b.
func ReadTask(b []byte) (t *task.Task, rest []byte) {
	shared := knownNames.Get().(*names)
	defer knownNames.Put(shared)
	r := reader{b: b, names: shared, lone: true}
	if t = r.task(); r.bad {
		return nil, b
	}
	return t, r.b
}

// AppendFinish appends the encoding of one finish, as in a log entry.
func AppendFinish(b []byte, c *task.Finish) []byte {
	f := beginFields(b)
	f.finish(c)
	return f.b
}

// DecodeFinish decodes what AppendFinish wrote, here or in a newer version, as DecodeTask does.
func DecodeFinish(b []byte) (*task.Finish, error) {
	shared := knownNames.Get().(*names)
	defer knownNames.Put(shared)
	if c, rest := readFinish(b, shared); c != nil && len(rest) == 0 {
		return c, nil
	}
	c := new(task.Finish)
	if err := cborModes.lenient.Unmarshal(b, c); err != nil {
		return nil, malformed(err)
	}
	return c, nil
}

// ReadFinish reads a finish at the start of b, as ReadTask reads a task.
func ReadFinish(b []byte) (c *task.Finish, rest []byte) {
	shared := knownNames.Get().(*names)
	defer knownNames.Put(shared)
	return readFinish(b, shared)
}

func readFinish(b []byte, shared *names) (*task.Finish, []byte) {
	r := reader{b: b, names: shared, lone: true}
	c := r.finish()
	if r.bad {
		return nil, b
	}
	return &c, r.b
}

func appendByLibrary(b []byte, v any) ([]byte, error) {
	buf := bytes.NewBuffer(b)
	if err := cborModes.enc.MarshalToBuffer(v, buf); err != nil {
		return b, err
	}
	return buf.Bytes(), nil
}
