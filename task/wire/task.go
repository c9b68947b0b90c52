package wire

import (
	"bytes"
	"sync"

	"github.com/taskrt/taskrt/task"
)

// AppendTask appends the encoding of one task: CBOR with integer keys, as in snapshots.
func AppendTask(b []byte, t *task.Task) ([]byte, error) {
	if b, ok := appendTask(b, t); ok {
		return b, nil
	}
	return appendByLibrary(b, t)
}

// knownNames are those of values that were decoded one by one.
var knownNames = sync.Pool{New: func() any { return new(names) }}

// DecodeTask decodes what AppendTask wrote, here or in a newer version: fields that this build does not know are passed
// over. For snapshots and the log that would not do. Nothing in the answer refers to b.
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

// readTask reads b by hand; nil: it is for the library.
func readTask(b []byte, shared *names) *task.Task {
	r := reader{b: b, names: shared}
	t := r.task()
	if r.bad || len(r.b) > 0 {
		return nil
	}
	return t
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
	r := reader{b: b, names: shared}
	if c := r.finish(); !r.bad && len(r.b) == 0 {
		return &c, nil
	}
	c := new(task.Finish)
	if err := cborModes.lenient.Unmarshal(b, c); err != nil {
		return nil, malformed(err)
	}
	return c, nil
}

func appendByLibrary(b []byte, v any) ([]byte, error) {
	buf := bytes.NewBuffer(b)
	if err := cborModes.enc.MarshalToBuffer(v, buf); err != nil {
		return b, err
	}
	return buf.Bytes(), nil
}
