// Package wire encodes the values of package task for log entries, for results on the node-to-node port, and for the records of snapshots. The
// encoding is CBOR (RFC 8949) with integer keys, in its deterministic form. Every form starts with a version byte.
//
// Log entries and snapshots are read strictly. A command, a record or a field that this build does not know is an error: a replica that
// skipped it would differ from the others (SPEC C4). Results are read leniently, because a newer node may say more.
//
// The frequent commands, tasks and most answers are written and read by generated code (append_gen.go, read_gen.go), without the CBOR library.
// internal/genfields generates it from the tags of the structs. It makes the same bytes as the library. The library reads and writes
// everything else. It also reads the bytes of the frequent forms that do not look as this build writes them.
//
// Integer keys and command numbers are part of the format: never reuse one.
package wire

import (
	"errors"
	"fmt"
	"sync"

	"github.com/fxamacker/cbor/v2"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire/head"
)

// Format is the number of the form of entries, snapshots and the greetings of nodes (SPEC C9). A build with another number is older than 0.1.0. The
// two builds cannot read each other's directories, and the content moves by export and import. Every later addition stands behind a feature level
// (task.KnownLevel), and the number stays.
const Format = 2

// version is the first byte of entries, proposals and results.
const version = Format

// These limit what is decoded. Lengths that the input claims are believed only as far as its bytes reach; these limits bound how
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

// keyedEnvelope is the envelope of a command that a client's idempotency key protects. It has one element more.
type keyedEnvelope struct {
	_       struct{} `cbor:",toarray"`
	Kind    uint64
	Process uint64
	Seq     uint64
	Lowest  uint64
	Body    uint64
}

// calledEnvelope is the envelope of a command that names its caller (SPEC A4). It has another element more. Only clusters from level 2 on have it.
type calledEnvelope struct {
	_       struct{} `cbor:",toarray"`
	Kind    uint64
	Process uint64
	Seq     uint64
	Lowest  uint64
	Body    uint64
	Caller  caller
}

// caller is a task.Caller without Look, which is in the envelope.
type caller struct {
	_     struct{} `cbor:",toarray"`
	Token uint64
	From  string
	Route string
	To    string
}

// lookedEnvelope is the calledEnvelope of a command for which Apply decides whether its caller may do it (SPEC A5). It has another element more, which is 1.
type lookedEnvelope struct {
	_       struct{} `cbor:",toarray"`
	Kind    uint64
	Process uint64
	Seq     uint64
	Lowest  uint64
	Body    uint64
	Caller  caller
	Look    uint64
}

// keyedArray, calledArray and lookedArray are the first bytes of a keyedEnvelope and so on: arrays of five, six and seven (RFC 8949, 3).
const (
	keyedArray  = 0x85
	calledArray = 0x86
	lookedArray = 0x87
)

// appendEnvelope writes what MarshalToBuffer writes for an envelope, a keyedEnvelope, a calledEnvelope or a lookedEnvelope.
func appendEnvelope(b []byte, kind uint64, o task.Origin, c *task.Caller) []byte {
	called := *c != task.Caller{}
	n := uint64(4)
	switch {
	case c.Look:
		n = 7
	case called:
		n = 6
	case o.Body != 0:
		n = 5
	}
	b = head.AppendUint(head.Append(b, head.Array, n), kind)
	b = head.AppendUint(head.AppendUint(head.AppendUint(b, o.Process), o.Seq), o.Lowest)
	if n > 4 {
		b = head.AppendUint(b, o.Body)
	}
	if called {
		b = head.AppendUint(head.Append(b, head.Array, 4), c.Token)
		b = head.AppendText(head.AppendText(head.AppendText(b, c.From), c.Route), c.Target)
	}
	if c.Look {
		b = head.AppendUint(b, 1)
	}
	return b
}

// envelope reads what appendEnvelope wrote.
func (r *reader) envelope(p *task.Proposal) (kind uint64) {
	n := r.head(head.Array)
	kind = r.uint()
	p.Origin = task.Origin{Process: r.uint(), Seq: r.uint(), Lowest: r.uint()}
	if n < 4 || n > 7 {
		r.bad = true
	}
	if n > 4 {
		p.Origin.Body = r.uint()
	}
	if n > 5 {
		r.bad = r.bad || r.head(head.Array) != 4
		p.Caller = task.Caller{Token: r.uint(), From: r.name(), Route: r.name(), Target: r.text()}
	}
	if n > 6 {
		r.bad = r.bad || r.uint() != 1
		p.Caller.Look = true
	}
	return kind
}

// decodeEnvelope is envelope by the library.
func decodeEnvelope(b []byte, p *task.Proposal) (kind uint64, rest []byte, err error) {
	switch b[0] {
	case keyedArray:
		var e keyedEnvelope
		rest, err = cborModes.strict.UnmarshalFirst(b, &e)
		p.Origin = task.Origin{Process: e.Process, Seq: e.Seq, Lowest: e.Lowest, Body: e.Body}
		return e.Kind, rest, err
	case calledArray:
		var e calledEnvelope
		rest, err = cborModes.strict.UnmarshalFirst(b, &e)
		p.Origin = task.Origin{Process: e.Process, Seq: e.Seq, Lowest: e.Lowest, Body: e.Body}
		p.Caller = task.Caller{Token: e.Caller.Token, From: e.Caller.From, Route: e.Caller.Route, Target: e.Caller.To}
		return e.Kind, rest, err
	case lookedArray:
		var e lookedEnvelope
		if rest, err = cborModes.strict.UnmarshalFirst(b, &e); err == nil && e.Look != 1 {
			err = errors.New("a look is 1")
		}
		p.Origin = task.Origin{Process: e.Process, Seq: e.Seq, Lowest: e.Lowest, Body: e.Body}
		p.Caller = task.Caller{Token: e.Caller.Token, From: e.Caller.From, Route: e.Caller.Route, Target: e.Caller.To, Look: true}
		return e.Kind, rest, err
	}
	var e envelope
	rest, err = cborModes.strict.UnmarshalFirst(b, &e)
	p.Origin = task.Origin{Process: e.Process, Seq: e.Seq, Lowest: e.Lowest}
	return e.Kind, rest, err
}

// scratch holds buffers in which entries grow. EncodeEntry returns a copy of the size that is needed.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

// maxScratch is the largest buffer that is kept: somewhat more than an entry of the usual size.
const maxScratch = 1 << 20

// EncodeEntry encodes a log entry. Index and Term of the header are not encoded: the log knows them.
func EncodeEntry(h task.Header, ps []task.Proposal) ([]byte, error) {
	buf := scratch.Get().(*[]byte)
	defer scratch.Put(buf)
	b := appendPreamble((*buf)[:0], h, len(ps))
	for i := range ps {
		kind, err := kindOf(ps[i].Command)
		if err != nil {
			return nil, fmt.Errorf("wire: proposal %d: %w", i, err)
		}
		if b, err = appendBody(appendEnvelope(b, kind, ps[i].Origin, &ps[i].Caller), ps[i].Command); err != nil {
			return nil, fmt.Errorf("wire: proposal %d: %w", i, err)
		}
	}
	return exact(buf, b), nil
}

// DecodeEntry decodes what EncodeEntry wrote. Nothing in the answer refers to b.
func DecodeEntry(b []byte) (task.Header, []task.Proposal, error) { return decodeEntry(b, nil) }

// decodeEntry is DecodeEntry, and notes where the commands are.
func decodeEntry(b []byte, bodies *Bodies) (task.Header, []task.Proposal, error) {
	if len(b) == 0 {
		return task.Header{}, nil, fmt.Errorf("%w: empty entry", ErrMalformed)
	}
	if b[0] != version {
		return task.Header{}, nil, fmt.Errorf("%w: entry format %d", ErrUnknownCommand, b[0])
	}
	r := reader{b: b[1:], names: new(names)}
	h, count, err := r.preamble()
	if err != nil {
		return task.Header{}, nil, err
	}
	rest := r.b
	var ps []task.Proposal
	if count > 0 {
		ps = make([]task.Proposal, 0, min(count, uint64(len(rest)/minProposal)))
		if bodies != nil {
			bodies.each = make([]body, 0, cap(ps))
		}
	}
	for range count {
		if len(rest) == 0 {
			return task.Header{}, nil, fmt.Errorf("%w: %d of %d proposals", ErrMalformed, len(ps), count)
		}
		var one task.Proposal
		if one, rest, err = r.proposal(rest); err != nil {
			return task.Header{}, nil, fmt.Errorf("proposal %d: %w", len(ps), err)
		}
		ps = append(ps, one)
		if to := len(b) - len(rest); bodies != nil {
			bodies.each = append(bodies.each, body{uint32(r.kind), uint32(to - r.length), uint32(to)})
		}
	}
	if len(rest) > 0 {
		return task.Header{}, nil, fmt.Errorf("%w: %d bytes after the last proposal", ErrMalformed, len(rest))
	}
	return h, ps, nil
}

// preamble reads what stands before the proposals.
func (r *reader) preamble() (h task.Header, count uint64, err error) {
	whole := r.b
	three := r.head(head.Array) == 3
	h = task.Header{Now: task.Time(r.int()), LeaseNow: task.LeaseTime(r.int())}
	if count = r.uint(); three && !r.bad {
		return h, count, nil
	}
	var p preamble
	if r.b, err = cborModes.strict.UnmarshalFirst(whole, &p); err != nil {
		return task.Header{}, 0, malformed(err)
	}
	return task.Header{Now: p.Now, LeaseNow: p.LeaseNow}, p.Count, nil
}

// minProposal is the length of the shortest proposal: an array of four small numbers and an empty map.
const minProposal = 6

// proposal reads one proposal at the start of b, without the library if possible, and returns what follows it. It notes the command's kind and
// length.
func (r *reader) proposal(b []byte) (p task.Proposal, rest []byte, err error) {
	r.b, r.bad = b, false
	kind := r.envelope(&p)
	if r.bad {
		p = task.Proposal{}
		if kind, r.b, err = decodeEnvelope(b, &p); err != nil {
			return p, nil, malformed(err)
		}
	}
	body := r.b
	r.bad = false
	c := r.command(kind)
	if c == nil || r.bad {
		if c, r.b, err = decodeCommand(kind, body); err != nil {
			return p, nil, err
		}
	}
	r.kind, r.length = kind, len(body)-len(r.b)
	p.Command = c
	return p, r.b, nil
}

// EncodeProposals encodes commands for the leader: an entry without clocks, which the leader stamps. bodies are the encoded commands.
func EncodeProposals(ps []task.Proposal, bodies Bodies) []byte {
	bytes := 0
	for i := range ps {
		bytes += bodies.Size(i)
	}
	b := Begin(task.Header{}, len(ps), bytes)
	for i := range ps {
		b = bodies.Append(b, i, &ps[i])
	}
	return b
}

// DecodeProposals decodes what EncodeProposals wrote. The bodies refer to b. This build has read each as it will read it in an entry.
func DecodeProposals(b []byte) ([]task.Proposal, Bodies, error) {
	bodies := Bodies{data: b}
	_, ps, err := decodeEntry(b, &bodies)
	return ps, bodies, err
}

// EncodeResults encodes answers for the node that forwarded the commands.
func EncodeResults(rs []task.Result) ([]byte, error) {
	buf := scratch.Get().(*[]byte)
	defer scratch.Put(buf)
	b := head.AppendUint(append((*buf)[:0], version), uint64(len(rs)))
	for i := range rs {
		after, ok := appendResult(b, &rs[i])
		if !ok {
			var err error
			if after, err = appendByLibrary(b, &rs[i]); err != nil {
				return nil, fmt.Errorf("wire: result %d: %w", i, err)
			}
		}
		b = after
	}
	return exact(buf, b), nil
}

// exact returns a copy of b, which has grown in buf.
func exact(buf *[]byte, b []byte) []byte {
	if cap(b) <= maxScratch {
		*buf = b
	}
	return append(make([]byte, 0, len(b)), b...)
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
	if count > 0 {
		rs = make([]task.Result, 0, min(count, uint64(len(rest)), maxArray))
	}
	r := reader{names: new(names)}
	for range count {
		if len(rest) == 0 {
			return nil, fmt.Errorf("%w: %d of %d results", ErrMalformed, len(rs), count)
		}
		r.b, r.bad = rest, false
		x := r.result()
		if r.bad {
			x = task.Result{}
			if r.b, err = cborModes.lenient.UnmarshalFirst(rest, &x); err != nil {
				return nil, malformed(err)
			}
		}
		rest = r.b
		rs = append(rs, x)
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("%w: %d bytes after the last result", ErrMalformed, len(rest))
	}
	return rs, nil
}
