package stream

import (
	"encoding/binary"
	"errors"

	"github.com/fxamacker/cbor/v2"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire"
)

// Assignments and reports of a finish are most of what streams carry. Their large parts are written and read by
// task/wire, without the library's reflection. The bytes are those that the library would write (TestQuickIsTheLibrary).

var (
	_ cbor.Marshaler   = Assignment{}
	_ cbor.Unmarshaler = (*Assignment)(nil)
	_ cbor.Marshaler   = Report{}
	_ cbor.Unmarshaler = (*Report)(nil)
)

// The forms that the library knows how to write and read.
type (
	plainAssignment Assignment
	plainReport     Report
)

// First bytes of CBOR (RFC 8949, 3).
const (
	mapOf1  = 0xa1
	mapOf2  = 0xa2
	mapOf3  = 0xa3
	uintOf8 = 0x1b // eight bytes follow
)

var errTaskMissing = errors.New("stream: an assignment without a task")

// modes is immutable after package initialisation.
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
	if a.Task == nil {
		return nil, errTaskMissing
	}
	shared := a.Module.Digest == "" // with the one before
	b := make([]byte, 0, 512+len(a.Task.Params.Data)+len(a.Task.Checkpoint.Data))
	if b = append(b, mapOf3, 1); shared {
		b[0] = mapOf1
	}
	b, err := wire.AppendTask(b, a.Task)
	if err != nil || shared {
		return b, err
	}
	policy, err := modes.enc.Marshal(&a.Policy)
	if err != nil {
		return nil, err
	}
	module, err := modes.enc.Marshal(&a.Module)
	if err != nil {
		return nil, err
	}
	b = append(append(b, 2), policy...)
	return append(append(b, 3), module...), nil
}

// UnmarshalCBOR implements cbor.Unmarshaler.
func (a *Assignment) UnmarshalCBOR(b []byte) (err error) {
	if len(b) > 2 && b[0] == mapOf1 && b[1] == 1 {
		a.Task, err = wire.DecodeTask(b[2:])
		return err
	}
	var parts struct {
		Task   cbor.RawMessage `cbor:"1,keyasint"`
		Policy task.Policy     `cbor:"2,keyasint"`
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
	if r.Finish == nil || r.Beat != nil || r.Snooze != nil || r.GiveBack != nil || len(r.Children) > 0 {
		return modes.enc.Marshal(plainReport(r))
	}
	b := make([]byte, 0, 256+len(r.Finish.Result.Data))
	b = append(appendUint(append(b, mapOf2, 1), r.ID), 2)
	return wire.AppendFinish(b, r.Finish), nil
}

// UnmarshalCBOR implements cbor.Unmarshaler.
func (r *Report) UnmarshalCBOR(b []byte) error {
	if len(b) > 2 && b[0] == mapOf2 && b[1] == 1 {
		if id, n := readUint(b[2:]); n > 0 && len(b) > 2+n && b[2+n] == 2 {
			f, err := wire.DecodeFinish(b[3+n:])
			r.ID, r.Finish = id, f
			return err
		}
	}
	return modes.dec.Unmarshal(b, (*plainReport)(r))
}

func appendUint(b []byte, n uint64) []byte {
	switch {
	case n < 24:
		return append(b, byte(n))
	case n < 1<<8:
		return append(b, 0x18, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(b, 0x19), uint16(n))
	case n < 1<<32:
		return binary.BigEndian.AppendUint32(append(b, 0x1a), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(b, uintOf8), n)
}

// readUint returns a number and the bytes that it takes; 0 bytes: there is none, or it is not written as appendUint does.
func readUint(b []byte) (n uint64, size int) {
	if len(b) == 0 || b[0] > uintOf8 {
		return 0, 0
	}
	if b[0] < 24 {
		return uint64(b[0]), 1
	}
	size = 1 << (b[0] - 24)
	if len(b) <= size {
		return 0, 0
	}
	for _, d := range b[1 : 1+size] {
		n = n<<8 | uint64(d)
	}
	return n, 1 + size
}
