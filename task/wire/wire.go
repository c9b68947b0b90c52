// Package wire encodes what task values look like outside memory: log entries, results on the node-to-node port,
// snapshot records. CBOR (RFC 8949) with integer keys: compact, versioned, self-describing, core deterministic.
//
// Log entries and snapshots are read strictly: a command, a record or a field that this build does not know is an
// error, because skipping it would make this replica differ from the others (SPEC C4). Results are read leniently: a
// newer node may say more.
//
// Every form starts with a version byte. Integer keys and command numbers are part of the format: never reuse one.
package wire

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/fxamacker/cbor/v2"

	"github.com/taskrt/taskrt/task"
)

// version is the first byte of entries, proposals and results.
const version = 1

// Limits of what is decoded. Lengths claimed by the input are believed only as far as its bytes reach; these bound how
// much larger than its encoding a value can become.
const (
	maxArray = 4096
	maxMap   = 64
	maxDepth = 16
)

var (
	// ErrUnknownCommand is wrapped by DecodeEntry's and DecodeProposals' errors for a command, or a field of one, or a
	// format version that this build does not know. The node must stop (SPEC C4).
	ErrUnknownCommand = errors.New("wire: unknown command")
	// ErrMalformed is wrapped by every other error of decoding.
	ErrMalformed = errors.New("wire: malformed")
)

// codec is the CBOR library set up once for this package's needs.
type codec struct {
	enc     cbor.UserBufferEncMode
	strict  cbor.DecMode
	lenient cbor.DecMode
}

// cborModes is immutable after package initialisation; building modes per call would dominate small messages.
var cborModes = newCodec()

func newCodec() codec {
	enc, err := cbor.CoreDetEncOptions().UserBufferEncMode()
	if err != nil {
		panic(err) // constant options
	}
	options := cbor.DecOptions{
		DupMapKey: cbor.DupMapKeyEnforcedAPF,
		// Strings may come from guests (messages, say) and need not be UTF-8. An entry that was committed must be
		// readable, whatever is in it.
		UTF8:              cbor.UTF8DecodeInvalid,
		IndefLength:       cbor.IndefLengthForbidden,
		TagsMd:            cbor.TagsForbidden,
		MaxArrayElements:  maxArray,
		MaxMapPairs:       maxMap,
		MaxNestedLevels:   maxDepth,
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
	}
	strict, err := options.DecMode()
	if err != nil {
		panic(err)
	}
	options.ExtraReturnErrors = cbor.ExtraDecErrorNone
	lenient, err := options.DecMode()
	if err != nil {
		panic(err)
	}
	return codec{enc, strict, lenient}
}

func malformed(err error) error {
	if unknown := (*cbor.UnknownFieldError)(nil); errors.As(err, &unknown) {
		return fmt.Errorf("%w: %w", ErrUnknownCommand, err)
	}
	return fmt.Errorf("%w: %w", ErrMalformed, noEOF(err))
}

// preamble is the CBOR value after the version byte; Count values follow it.
type preamble struct {
	_        struct{} `cbor:",toarray"`
	Now      task.Time
	LeaseNow task.LeaseTime
	Count    uint64
}

// envelope stands before each command's body.
type envelope struct {
	_       struct{} `cbor:",toarray"`
	Kind    uint64
	Process uint64
	Seq     uint64
	Lowest  uint64
}

// keyedEnvelope is the envelope of a command that a client's idempotency key protects: one element more.
type keyedEnvelope struct {
	_       struct{} `cbor:",toarray"`
	Kind    uint64
	Process uint64
	Seq     uint64
	Lowest  uint64
	Body    uint64
}

// keyedArray is the first byte of a keyedEnvelope: an array of five (RFC 8949, 3).
const keyedArray = 0x85

func encodeEnvelope(kind uint64, o task.Origin, b *bytes.Buffer) error {
	if o.Body != 0 {
		return cborModes.enc.MarshalToBuffer(keyedEnvelope{Kind: kind, Process: o.Process, Seq: o.Seq, Lowest: o.Lowest, Body: o.Body}, b)
	}
	return cborModes.enc.MarshalToBuffer(envelope{Kind: kind, Process: o.Process, Seq: o.Seq, Lowest: o.Lowest}, b)
}

func decodeEnvelope(b []byte) (kind uint64, o task.Origin, rest []byte, err error) {
	if b[0] == keyedArray {
		var e keyedEnvelope
		rest, err = cborModes.strict.UnmarshalFirst(b, &e)
		return e.Kind, task.Origin{Process: e.Process, Seq: e.Seq, Lowest: e.Lowest, Body: e.Body}, rest, err
	}
	var e envelope
	rest, err = cborModes.strict.UnmarshalFirst(b, &e)
	return e.Kind, task.Origin{Process: e.Process, Seq: e.Seq, Lowest: e.Lowest}, rest, err
}

// EncodeEntry encodes a log entry. Index and Term of the header are not encoded: the log knows them.
func EncodeEntry(h task.Header, ps []task.Proposal) ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte(version)
	if err := cborModes.enc.MarshalToBuffer(preamble{Now: h.Now, LeaseNow: h.LeaseNow, Count: uint64(len(ps))}, &b); err != nil {
		return nil, fmt.Errorf("wire: entry: %w", err)
	}
	for i := range ps {
		kind, err := kindOf(ps[i].Command)
		if err != nil {
			return nil, err
		}
		if n := longest(ps[i].Command); n > maxArray {
			return nil, fmt.Errorf("wire: proposal %d: a list of %d elements is too long for the log", i, n)
		}
		if err := encodeEnvelope(kind, ps[i].Origin, &b); err != nil {
			return nil, fmt.Errorf("wire: proposal %d: %w", i, err)
		}
		if err := cborModes.enc.MarshalToBuffer(ps[i].Command, &b); err != nil {
			return nil, fmt.Errorf("wire: proposal %d: %w", i, err)
		}
	}
	return b.Bytes(), nil
}

// DecodeEntry decodes what EncodeEntry wrote. Nothing in the answer refers to b.
func DecodeEntry(b []byte) (task.Header, []task.Proposal, error) {
	if len(b) == 0 {
		return task.Header{}, nil, fmt.Errorf("%w: empty entry", ErrMalformed)
	}
	if b[0] != version {
		return task.Header{}, nil, fmt.Errorf("%w: entry format %d", ErrUnknownCommand, b[0])
	}
	var p preamble
	rest, err := cborModes.strict.UnmarshalFirst(b[1:], &p)
	if err != nil {
		return task.Header{}, nil, malformed(err)
	}
	h := task.Header{Now: p.Now, LeaseNow: p.LeaseNow}
	var ps []task.Proposal
	for range p.Count {
		if len(rest) == 0 {
			return task.Header{}, nil, fmt.Errorf("%w: %d of %d proposals", ErrMalformed, len(ps), p.Count)
		}
		kind, origin, body, err := decodeEnvelope(rest)
		if err != nil {
			return task.Header{}, nil, malformed(err)
		}
		c, after, err := decodeCommand(kind, body)
		if err != nil {
			return task.Header{}, nil, fmt.Errorf("proposal %d: %w", len(ps), err)
		}
		rest = after
		ps = append(ps, task.Proposal{Origin: origin, Command: c})
	}
	if len(rest) > 0 {
		return task.Header{}, nil, fmt.Errorf("%w: %d bytes after the last proposal", ErrMalformed, len(rest))
	}
	return h, ps, nil
}

// EncodeProposals encodes commands for the leader: an entry without clocks, which the leader stamps.
func EncodeProposals(ps []task.Proposal) ([]byte, error) { return EncodeEntry(task.Header{}, ps) }

// DecodeProposals decodes what EncodeProposals wrote.
func DecodeProposals(b []byte) ([]task.Proposal, error) {
	_, ps, err := DecodeEntry(b)
	return ps, err
}

// EncodeResults encodes answers for the node that forwarded the commands.
func EncodeResults(rs []task.Result) ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte(version)
	if err := cborModes.enc.MarshalToBuffer(uint64(len(rs)), &b); err != nil {
		return nil, fmt.Errorf("wire: results: %w", err)
	}
	for i := range rs {
		if err := cborModes.enc.MarshalToBuffer(&rs[i], &b); err != nil {
			return nil, fmt.Errorf("wire: result %d: %w", i, err)
		}
	}
	return b.Bytes(), nil
}

// DecodeResults decodes what EncodeResults wrote. Nothing in the answer refers to b.
func DecodeResults(b []byte) ([]task.Result, error) {
	if len(b) == 0 || b[0] != version {
		return nil, fmt.Errorf("%w: results of an unknown format", ErrMalformed)
	}
	var count uint64
	rest, err := cborModes.lenient.UnmarshalFirst(b[1:], &count)
	if err != nil {
		return nil, malformed(err)
	}
	var rs []task.Result
	for range count {
		if len(rest) == 0 {
			return nil, fmt.Errorf("%w: %d of %d results", ErrMalformed, len(rs), count)
		}
		var r task.Result
		if rest, err = cborModes.lenient.UnmarshalFirst(rest, &r); err != nil {
			return nil, malformed(err)
		}
		rs = append(rs, r)
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("%w: %d bytes after the last result", ErrMalformed, len(rest))
	}
	return rs, nil
}
