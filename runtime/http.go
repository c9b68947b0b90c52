package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/tetratelabs/wazero/api"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime/fetch"
	"github.com/taskrt/taskrt/runtime/manifest"
)

// Limits of a guest's requests.
const (
	MaxHTTPHead     = 32 << 10 // bytes of JSON
	MaxHTTPRequests = 1000     // of an attempt
)

// exchange is a guest's last request and its answer.
type exchange struct {
	made   int // requests of the attempt
	answer bool
	head   []byte
	body   []byte
	reason []byte // why there is no answer
}

func hostHTTPRequest(g *guest, mem api.Memory, stack []uint64) {
	head := g.given(mem, abi.FuncHTTPRequest, uint32(stack[0]), uint32(stack[1]))
	body := g.given(mem, abi.FuncHTTPRequest, uint32(stack[2]), uint32(stack[3]))
	if g.phase != phaseRun {
		stack[0] = status(abi.EDENIED)
		return
	}
	g.http = exchange{made: g.http.made}
	g.hold(0)
	answer, errno, err := g.request(head, body)
	if err != nil {
		g.http.reason = g.log.hide([]byte(err.Error()))
		stack[0] = status(errno)
		return
	}
	stack[0] = status(abi.Errno(answer))
}

// request makes a request, and returns the status code of the answer.
func (g *guest) request(head, body []byte) (int, abi.Errno, error) {
	if len(head) > MaxHTTPHead {
		return 0, abi.E2BIG, fmt.Errorf("the head has %d bytes, at most %d", len(head), MaxHTTPHead)
	}
	if g.http.made >= MaxHTTPRequests {
		return 0, abi.E2BIG, fmt.Errorf("the attempt has made %d requests", g.http.made)
	}
	q, err := decodeRequest(head)
	if err != nil {
		return 0, abi.EINVAL, err
	}
	do, most, room, errno, err := g.fetcher()
	if err != nil {
		return 0, errno, err
	}
	if int64(len(body)) > most {
		return 0, abi.E2BIG, fmt.Errorf("the body has %d bytes, at most %d", len(body), most)
	}
	if !g.hold(room) {
		return 0, abi.EAGAIN, fmt.Errorf("this worker has no memory for a response of up to %d bytes now", room)
	}
	defer func() { g.hold(int64(len(g.http.body))) }()
	q.Body = bytes.Clone(body)
	g.http.made++
	var res *fetch.Response
	g.outside(func() { res, err = do(g.ctx, q) })
	if err != nil {
		return 0, httpErrno(err), err
	}
	text, err := json.Marshal(struct {
		Status  int                 `json:"status"`
		Headers map[string][]string `json:"headers"`
	}{res.Status, res.Header})
	if err != nil {
		return 0, abi.EAGAIN, err
	}
	g.http.answer, g.http.head, g.http.body = true, text, res.Body
	return res.Status, 0, nil
}

// httpErrno is what a guest hears of an error of a request.
func httpErrno(err error) abi.Errno {
	switch {
	case errors.Is(err, ErrLeaseLost):
		return abi.ECONFLICT
	case errors.Is(err, fetch.ErrDenied):
		return abi.EDENIED
	case errors.Is(err, fetch.ErrInvalid):
		return abi.EINVAL
	case errors.Is(err, fetch.ErrTooBig):
		return abi.E2BIG
	}
	return abi.EAGAIN
}

// hold charges the guests' memory budget for n bytes of response, instead of what it is charged for now; false: they
// do not fit.
func (g *guest) hold(n int64) bool {
	switch more := n - g.held; {
	case g.memory == nil, more == 0:
	case more < 0:
		g.memory.Give(-more)
		g.held = n
	case !g.memory.Take(more):
		return false
	default:
		g.held = n
	}
	return true
}

// fetcher finds who makes the guest's requests, and the longest bodies of a request and of a response that any of its
// rules allows.
func (g *guest) fetcher() (do func(context.Context, *fetch.Request) (*fetch.Response, error), most, room int64, errno abi.Errno, err error) {
	// A worker that may have lost the lease must have no effect outside any more (SPEC L5).
	if g.host.Signals()&abi.SignalLeaseLost != 0 {
		return nil, 0, 0, abi.ECONFLICT, errors.New("the lease is lost, or about to be")
	}
	if g.attempt.HTTP != nil {
		return g.attempt.HTTP, manifest.MaxPayloadBytes, 0, 0, nil
	}
	o := outsideOf(g)
	g.outside(func() { most, room, err = o.HTTPLimits(g.ctx) })
	if err != nil {
		return nil, 0, 0, httpErrno(err), err
	}
	return o.HTTP, most, room, 0, nil
}

func decodeRequest(head []byte) (*fetch.Request, error) {
	var q struct {
		Method  string            `json:"method"`
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers"`
	}
	d := json.NewDecoder(bytes.NewReader(head))
	d.DisallowUnknownFields()
	if err := d.Decode(&q); err != nil {
		return nil, fmt.Errorf("the head: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("the head: there is more behind the object")
	}
	if q.Method == "" {
		q.Method = "GET"
	}
	return &fetch.Request{Method: q.Method, URL: q.URL, Header: q.Headers}, nil
}

// part returns one of the parts of the last exchange.
func (g *guest) part(part int32) (content, abi.Errno) {
	var c content
	switch {
	case part < abi.HTTPHead || part > abi.HTTPError:
		return c, abi.ENOSYS
	case g.phase != phaseRun:
		return c, abi.EDENIED
	case (part == abi.HTTPError) == g.http.answer || !g.http.answer && g.http.reason == nil:
		return c, abi.ENOENT
	case part == abi.HTTPHead:
		c.data = g.http.head
	case part == abi.HTTPBody:
		c.data = g.http.body
	default:
		c.data = g.http.reason
	}
	return c, 0
}
