// Package sdkhttp makes HTTP requests that the operator allows to a behavior (docs/capabilities.md). A module that imports it requires
// the capability: its manifest says so by itself, and an upload is refused where nothing is granted.
//
// The package is small. Package transport makes a net/http client of it, which adds 8 MB to a guest.
package sdkhttp

import (
	"maps"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/taskrt/taskrt/abi"
	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/internal/host"
	"github.com/taskrt/taskrt/plugins/sdk/go/tinyjson"
)

func init() { sdk.Require(abi.CapabilityHTTP) }

// Request is an HTTP request.
type Request struct {
	Method  string // upper case; "": GET
	URL     string // https://… or http://…, without credentials
	Headers map[string]string
	Body    []byte
}

// Response is an answer of any status, 200 to 599; redirects are not followed.
type Response struct {
	Status  int
	Headers map[string][]string // names in canonical form: Content-Type
	Body    []byte
}

// Header returns the first value of a header, whose name is in canonical form; "" if there is none.
func (r *Response) Header(name string) string {
	if values := r.Headers[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// Error is why there is no response. errors.Is finds one of these in it:
//
//   - sdk.ErrDenied: no rule of the operator allows the request, or the address is not public
//   - sdk.ErrTooLarge: the request or the response is over a limit, or it is the attempt's 1001st
//   - sdk.ErrUnavailable: the network or the other side failed, or it took too long; the request may have been made
//   - sdk.ErrLeaseLost: another attempt may be running; stop
//   - sdk.ErrInvalid: this is not a valid request
type Error struct {
	Err    error
	Reason string // in the host's words
}

func (e *Error) Error() string { return "http: " + e.Reason }

// Unwrap returns the SDK's error.
func (e *Error) Unwrap() error { return e.Err }

// asking is held from a request to the end of its response, because a response is there only until the next request. Goroutines of a
// guest change places where they allocate.
var asking sync.Mutex

// Do makes a request and waits for the whole response. The wait ends with the attempt, or by the rule's timeout. An error is
// an *Error. Call Do while a behavior runs, not in init. It is safe for concurrent use, and makes one request after the other.
func Do(q Request) (*Response, error) {
	head, err := q.head()
	if err != nil {
		return nil, err
	}
	asking.Lock()
	defer asking.Unlock()
	n := request(head, q.Body)
	if n < 0 {
		err := &Error{Err: host.Installed.Error(abi.Errno(n))}
		reason, ok := part(abi.HTTPError)
		if err.Reason = string(reason); !ok {
			err.Reason = err.Err.Error()
		}
		return nil, err
	}
	r := &Response{Status: int(n)}
	text, _ := part(abi.HTTPHead)
	if r.Headers, err = headers(text); err != nil {
		return nil, err
	}
	r.Body, _ = part(abi.HTTPBody)
	return r, nil
}

// head is the JSON that the host reads. A text that is not UTF-8 would become another text there.
func (q *Request) head() ([]byte, error) {
	valid := utf8.ValidString(q.Method) && utf8.ValidString(q.URL)
	head := []byte{'{'}
	if q.Method != "" {
		head = tinyjson.AppendString(tinyjson.AppendMember(head, "method"), q.Method)
	}
	head = tinyjson.AppendString(tinyjson.AppendMember(head, "url"), q.URL)
	head = append(tinyjson.AppendMember(head, "headers"), '{')
	for _, name := range slices.Sorted(maps.Keys(q.Headers)) {
		valid = valid && utf8.ValidString(name) && utf8.ValidString(q.Headers[name])
		head = tinyjson.AppendString(tinyjson.AppendMember(head, name), q.Headers[name])
	}
	if !valid {
		return nil, &Error{sdk.ErrInvalid, "method, url and headers must be UTF-8"}
	}
	return append(head, "}}"...), nil
}

func headers(head []byte) (map[string][]string, error) {
	v, err := tinyjson.Parse(head)
	if err != nil {
		return nil, &Error{sdk.ErrInvalid, "the head of the response: " + err.Error()}
	}
	list, _ := v.Get("headers")
	to := make(map[string][]string, len(list.Keys()))
	for i, name := range list.Keys() {
		for _, value := range list.Elems()[i].Elems() {
			s, _ := value.Str()
			to[name] = append(to[name], s)
		}
	}
	return to, nil
}

// part reads a part of the last request; false if there is none.
func part(which int32) ([]byte, bool) {
	n := partLen(which)
	if n < 0 {
		return nil, false
	}
	to := make([]byte, n)
	for off := int32(0); off < n; {
		got := partRead(which, off, to[off:])
		if got <= 0 {
			panic("sdkhttp: the host announced bytes that it does not give: part " + strconv.Itoa(int(which)))
		}
		off += got
	}
	return to, true
}
