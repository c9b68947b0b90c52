package stream

import (
	"errors"

	"github.com/fxamacker/cbor/v2"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire"
	"github.com/taskrt/taskrt/task/wire/head"
)

// When the library reads or writes a frame (see byhand.go), it still leaves assignments, and reports of a finish, to this file. So task/wire reads
// and writes tasks and finishes in any case. Both ways must take the same frames: task/wire takes texts that are not UTF-8, and the library alone
// would refuse them. The bytes are those that the library would write (TestElementsAreTheLibrary).

var (
	_ cbor.Marshaler   = Assignment{}
	_ cbor.Unmarshaler = (*Assignment)(nil)
	_ cbor.Marshaler   = Report{}
	_ cbor.Unmarshaler = (*Report)(nil)
)

// The forms that the library writes and reads by itself.
type (
	plainAssignment Assignment
	plainReport     Report
)

var errTaskMissing = errors.New("stream: an assignment without a task")

// modes is never changed after package initialisation.
var modes = mustCodec()

func mustCodec() codec {
	c, err := newCodec()
	if err != nil {
		panic(err) // constant options
	}
	return c
}

// MarshalCBOR implements cbor.Marshaler.
func (a Assignment) MarshalCBOR() ([]byte, error) {
	return appendAssignment(nil, &a, a.Module.Digest == "") // shared with the assignment before it
}

// UnmarshalCBOR implements cbor.Unmarshaler.
func (a *Assignment) UnmarshalCBOR(b []byte) (err error) {
	if len(b) > 2 && b[0] == mapOf1 && b[1] == 1 {
		a.Task, err = wire.DecodeTask(b[2:])
		return err
	}
	var parts struct {
		Task   cbor.RawMessage `cbor:"1,keyasint"`
		Policy *task.Policy    `cbor:"2,keyasint"`
		Module Module          `cbor:"3,keyasint"`
	}
	if err := modes.dec.Unmarshal(b, &parts); err != nil {
		return err
	}
	if len(parts.Task) == 0 {
		return errTaskMissing
	}
	a.Policy, a.Module = parts.Policy, parts.Module
	a.Task, err = wire.DecodeTask(parts.Task)
	return err
}

// MarshalCBOR implements cbor.Marshaler.
func (r Report) MarshalCBOR() ([]byte, error) {
	return appendReport(nil, &r)
}

// UnmarshalCBOR implements cbor.Unmarshaler.
func (r *Report) UnmarshalCBOR(b []byte) error {
	if len(b) > 2 && b[0] == mapOf2 && b[1] == 1 {
		x := reader{b: b[2:]}
		if id := x.head(head.Uint); !x.bad && len(x.b) > 0 && x.b[0] == 2 {
			f, err := wire.DecodeFinish(x.b[1:])
			r.ID, r.Finish = id, f
			return err
		}
	}
	return modes.dec.Unmarshal(b, (*plainReport)(r))
}
