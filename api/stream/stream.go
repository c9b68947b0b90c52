// Package stream is how requests and answers of the API travel over one WebSocket (SPEC H5): many in a message, many under way, told apart by
// numbers. DESIGN.md is the contract.
package stream

import (
	"encoding/json"
	"errors"
	"strconv"

	"github.com/fxamacker/cbor/v2"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
)

// Path is where a stream begins.
const Path = "/v1/stream"

// BearerSubprotocol begins the subprotocol by which a page offers its token in the handshake: a browser lets a page set no header there.
const BearerSubprotocol = "taskrt.bearer."

// These are bounds of one connection.
const (
	MaxMessage  = 9 << 20 // bytes of a message of a client: a body of the most that HTTP takes, and what stands around it
	MaxUnderWay = 256     // requests whose answers have not been written; while they are so many, the server reads nothing
	MaxWatches  = 64      // of them; so watches, which end when they are cancelled, never keep the server from reading that
	MaxNumber   = 1<<53 - 1
)

// TokenEnded is the close code of a stream whose token no longer holds: Unauthorized in IANA's registry. As with 1001, requests without an
// answer have not been begun.
const TokenEnded = 3000

// Request is a request of the API, as a client would send it by HTTP.
type Request struct {
	N      uint64  `json:"n" cbor:"n"` // 1 to MaxNumber, of no other request that is under way
	Method string  `json:"method,omitempty" cbor:"method,omitempty"`
	Path   string  `json:"path,omitempty" cbor:"path,omitempty"`     // with the query
	Key    string  `json:"key,omitempty" cbor:"key,omitempty"`       // Idempotency-Key
	Prefer string  `json:"prefer,omitempty" cbor:"prefer,omitempty"` // as the header
	Trace  string  `json:"trace,omitempty" cbor:"trace,omitempty"`   // as the header traceparent
	State  string  `json:"tracestate,omitempty" cbor:"tracestate,omitempty"`
	Body   Body    `json:"body,omitempty" cbor:"body,omitempty"`
	Watch  bool    `json:"watch,omitempty" cbor:"watch,omitempty"`   // the answer is one of events: what is text/event-stream by HTTP
	After  *uint64 `json:"after,omitempty" cbor:"after,omitempty"`   // as the header Last-Event-ID, of a watch
	Cancel bool    `json:"cancel,omitempty" cbor:"cancel,omitempty"` // nobody waits any more for the request with this number; nothing else is said
}

// Answer is the answer to the request with the number, or, with More, a part of it.
type Answer struct {
	N      uint64  `json:"n" cbor:"n"`
	Status int     `json:"status" cbor:"status"`                     // as by HTTP
	Index  uint64  `json:"index,omitempty" cbor:"index,omitempty"`   // Taskrt-Index
	Body   Body    `json:"body,omitempty" cbor:"body,omitempty"`     // JSON; from status 400 on a problem document (RFC 9457)
	More   bool    `json:"more,omitempty" cbor:"more,omitempty"`     // of a watch: it goes on
	Events []Event `json:"events,omitempty" cbor:"events,omitempty"` // with More
}

// Event is an event of a watch. Without a type it only says from where to go on.
type Event struct {
	Type string  `json:"type,omitempty" cbor:"type,omitempty"`
	ID   *uint64 `json:"id,omitempty" cbor:"id,omitempty"` // go on after it; nil: after the last one that there was
	Data Body    `json:"data,omitempty" cbor:"data,omitempty"`
}

// Body is a text of JSON. In JSON it stands as it is; in CBOR it is a byte string.
type Body = json.RawMessage

// Requests is a message of a client.
type Requests struct {
	Requests []Request `json:"requests" cbor:"requests"`
}

// Answers is a message of a server.
type Answers struct {
	Answers []Answer `json:"answers" cbor:"answers"`
}

// Form is how messages are written.
type Form interface {
	// Subprotocol names the form in the handshake.
	Subprotocol() string
	// Binary says of which type the messages are.
	Binary() bool
	// Requests reads a message of a client. Nothing of the message is kept.
	Requests(message []byte) ([]Request, error)
	// AppendAnswers appends a message of a server.
	AppendAnswers(b []byte, answers []Answer) ([]byte, error)
}

// Forms returns the forms, in the order in which a server prefers them.
func Forms() []Form { return []Form{jsonForm{}, CBOR{}} }

// FormOf returns the form of a subprotocol; nil: there is none.
func FormOf(subprotocol string) Form {
	for _, f := range Forms() {
		if f.Subprotocol() == subprotocol {
			return f
		}
	}
	return nil
}

// check refuses numbers that a JSON reader would round.
func check(requests []Request) ([]Request, error) {
	if len(requests) == 0 {
		return nil, errors.New("a message has one request at least")
	}
	for _, r := range requests {
		if r.N == 0 || r.N > MaxNumber {
			return nil, errors.New("n is a whole number from 1 to 2^53-1")
		}
	}
	return requests, nil
}

type jsonForm struct{}

func (jsonForm) Subprotocol() string { return "taskrt.v1+json" }
func (jsonForm) Binary() bool        { return false }

// Requests is as strict as bodies are.
func (jsonForm) Requests(message []byte) ([]Request, error) {
	var m Requests
	if err := codec.Strict.Decode(message, &m); err != nil {
		return nil, err
	}
	return check(m.Requests)
}

func (jsonForm) AppendAnswers(b []byte, answers []Answer) ([]byte, error) {
	b = append(b, `{"answers":[`...)
	for i, a := range answers {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendUint(append(b, `{"n":`...), a.N, 10)
		b = strconv.AppendInt(append(b, `,"status":`...), int64(a.Status), 10)
		if a.Index > 0 {
			b = strconv.AppendUint(append(b, `,"index":`...), a.Index, 10)
		}
		if len(a.Body) > 0 {
			b = append(append(b, `,"body":`...), a.Body...)
		}
		if a.More {
			b = appendEvents(append(b, `,"more":true`...), a.Events)
		}
		b = append(b, '}')
	}
	return append(b, "]}"...), nil
}

func appendEvents(b []byte, events []Event) []byte {
	if len(events) == 0 {
		return b
	}
	b = append(b, `,"events":[`...)
	for i, e := range events {
		if i > 0 {
			b = append(b, ',')
		}
		next := byte('{')
		if e.Type != "" {
			b = strconv.AppendQuote(append(append(b, next), `"type":`...), e.Type)
			next = ','
		}
		if e.ID != nil {
			b = strconv.AppendUint(append(append(b, next), `"id":`...), *e.ID, 10)
			next = ','
		}
		if len(e.Data) > 0 {
			b = append(append(append(b, next), `"data":`...), e.Data...)
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

// CBOR is taskrt.v1+cbor, the form that costs both ends less.
type CBOR struct{}

// Subprotocol implements Form.
func (CBOR) Subprotocol() string { return "taskrt.v1+cbor" }

// Binary implements Form.
func (CBOR) Binary() bool { return true }

// strictCBOR reads what clients send: each name once, none that is unknown, nothing of unknown length.
var strictCBOR = func() cbor.DecMode {
	mode, err := cbor.DecOptions{
		DupMapKey: cbor.DupMapKeyEnforcedAPF, ExtraReturnErrors: cbor.ExtraDecErrorUnknownField, IndefLength: cbor.IndefLengthForbidden,
		TagsMd: cbor.TagsForbidden, MaxNestedLevels: 4, MaxArrayElements: api.MaxParts, MaxMapPairs: 16, FieldNameMatching: cbor.FieldNameMatchingCaseSensitive,
	}.DecMode()
	if err != nil {
		panic(err) // cannot happen: the options are constant
	}
	return mode
}()

// Requests implements Form. It is as strict as bodies are.
func (CBOR) Requests(message []byte) ([]Request, error) {
	var m Requests
	if err := strictCBOR.Unmarshal(message, &m); err != nil {
		return nil, err
	}
	return check(m.Requests)
}

// AppendAnswers implements Form.
func (CBOR) AppendAnswers(b []byte, answers []Answer) ([]byte, error) {
	text, err := cbor.Marshal(Answers{answers})
	return append(b, text...), err
}
