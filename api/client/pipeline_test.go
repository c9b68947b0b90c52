package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/api/tracing"
)

// held is a transport whose requests stay under way until a test answers them.
type held struct{ requests chan *heldRequest }

type heldRequest struct {
	ids    []string
	many   bool
	key    string
	traces []string // of the tasks that name one
	header string
	answer chan func() (*http.Response, error)
}

func (h *held) RoundTrip(r *http.Request) (*http.Response, error) {
	httptrace.ContextClientTrace(r.Context()).GotConn(httptrace.GotConnInfo{})
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var b struct {
		ID, Traceparent, Tracestate string
		Tasks                       []struct{ ID, Traceparent, Tracestate string }
	}
	if err := json.Unmarshal(body, &b); err != nil {
		return nil, err
	}
	x := &heldRequest{many: b.Tasks != nil, key: r.Header.Get(api.KeyHeader), header: r.Header.Get(tracing.Header), answer: make(chan func() (*http.Response, error))}
	if !x.many {
		x.ids = []string{b.ID}
		x.traces = []string{strings.TrimSpace(b.Traceparent + " " + b.Tracestate)}
	}
	for _, one := range b.Tasks {
		x.ids = append(x.ids, one.ID)
		x.traces = append(x.traces, strings.TrimSpace(one.Traceparent+" "+one.Tracestate))
	}
	select {
	case h.requests <- x:
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	select {
	case f := <-x.answer:
		return f()
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

func answered(status int, media string, body []byte) *http.Response {
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {media}, "Taskrt-Index": {"9"}}, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
}

// ok answers each task with itself, or with the error that errs has for its ID.
func (x *heldRequest) ok(errs map[string]string) {
	one := func(id string) string {
		if code := errs[id]; code != "" {
			return fmt.Sprintf(`{"error":{"code":%q,"status":%d}}`, code, api.NewError(code, "").Status)
		}
		return fmt.Sprintf(`{"task":{"id":%q},"outcome":"created"}`, id)
	}
	var texts []string
	for _, id := range x.ids {
		texts = append(texts, one(id))
	}
	body := texts[0]
	if x.many {
		body = `{"results":[` + strings.Join(texts, ",") + `]}`
	}
	x.answer <- func() (*http.Response, error) { return answered(200, "application/json", []byte(body)), nil }
}

func (x *heldRequest) problem(code string) {
	e := api.NewError(code, "")
	x.answer <- func() (*http.Response, error) {
		return answered(e.Status, "application/problem+json", fmt.Appendf(nil, `{"code":%q,"status":%d}`, code, e.Status)), nil
	}
}

// pipe is a pipelined client whose callers are started by a test.
type pipe struct {
	t      *testing.T
	client *client.Client
	held   *held
	mu     sync.Mutex
	got    map[string]string // by ID: the ID of the answer, or an error's code, and whether the context had ended
	index  map[string]uint64
}

// inPipe runs test in a bubble. Two requests, first-1 and first-2, are under way when it begins.
func inPipe(t *testing.T, c client.Config, test func(p *pipe, first, second *heldRequest)) {
	synctest.Test(t, func(t *testing.T) {
		p := &pipe{t: t, held: &held{requests: make(chan *heldRequest)}, got: map[string]string{}, index: map[string]uint64{}}
		c.URLs, c.Transport, c.Pipelined = []string{"http://node"}, p.held, true
		var err error
		if p.client, err = client.New(c); err != nil {
			t.Fatal(err)
		}
		defer p.client.Close()
		p.submit(p.t.Context(), "first-1")
		first := <-p.held.requests
		p.submit(p.t.Context(), "first-2")
		second := <-p.held.requests
		test(p, first, second)
		synctest.Wait()
	})
}

// submit starts callers, one for each ID, in their order.
func (p *pipe) submit(ctx context.Context, ids ...string) {
	for _, id := range ids {
		p.send(ctx, api.SubmitRequest{Behavior: "echo", ID: id, Params: json.RawMessage(`{"of": "` + id + `"}`)})
	}
}

func (p *pipe) send(ctx context.Context, r api.SubmitRequest) {
	go func() {
		ctx, meta := api.WithMeta(ctx)
		reply, err := p.client.Submit(ctx, r)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.index[r.ID] = meta.Index()
		switch {
		case err == nil:
			p.got[r.ID] = reply.Task.ID
		case errors.Is(err, context.Canceled):
			p.got[r.ID] = api.CodeOf(err) + " cancelled"
		default:
			p.got[r.ID] = api.CodeOf(err)
		}
	}()
	synctest.Wait()
}

// want checks what a caller has got; "" means nothing yet.
func (p *pipe) want(id, what string) {
	p.t.Helper()
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.got[id] != what {
		p.t.Errorf("%s got %q, want %q", id, p.got[id], what)
	}
}

// next returns the next request. It must be for these tasks.
func (p *pipe) next(ids ...string) *heldRequest {
	p.t.Helper()
	synctest.Wait()
	select {
	case x := <-p.held.requests:
		if strings.Join(x.ids, " ") != strings.Join(ids, " ") || x.many != (len(ids) > 1) {
			p.t.Errorf("a request for %q, want %q", x.ids, ids)
		}
		return x
	default:
		p.t.Fatalf("no request, want one for %q", ids)
		return nil
	}
}

// none checks that nothing is sent.
func (p *pipe) none() {
	p.t.Helper()
	synctest.Wait()
	select {
	case x := <-p.held.requests:
		p.t.Errorf("a request for %q, want none", x.ids)
	default:
	}
}

// TestPipelineGroups: submits that come while requests are under way go together, and each caller has its own answer.
func TestPipelineGroups(t *testing.T) {
	inPipe(t, client.Config{}, func(p *pipe, first, second *heldRequest) {
		p.submit(p.t.Context(), "aaa", "bbb", "ccc")
		p.none()
		first.ok(nil)
		p.want("first-1", "first-1")
		group := p.next("aaa", "bbb", "ccc")
		p.submit(p.t.Context(), "ddd")
		p.none()
		group.ok(map[string]string{"bbb": "already_exists"})
		p.want("aaa", "aaa")
		p.want("bbb", "already_exists")
		p.want("ccc", "ccc")
		if p.index["ccc"] != 9 {
			p.t.Errorf("index %d", p.index["ccc"])
		}
		last := p.next("ddd")
		second.ok(nil)
		last.ok(nil)
		p.want("ddd", "ddd")
		p.want("first-2", "first-2")
		p.submit(p.t.Context(), "eee") // nothing is under way any more
		p.next("eee").ok(nil)
		p.want("eee", "eee")
	})
}

// TestPipelineBounds: a request has at most a thousand tasks, and no more bytes than a body may have.
func TestPipelineBounds(t *testing.T) {
	var ids []string
	for i := range 1500 {
		ids = append(ids, fmt.Sprintf("id-%d", i))
	}
	inPipe(t, client.Config{}, func(p *pipe, first, second *heldRequest) {
		p.submit(p.t.Context(), ids...)
		first.ok(nil)
		p.next(ids[:1000]...).ok(nil)
		p.next(ids[1000:]...).ok(nil)
		p.want("id-999", "id-999")
		p.want("id-1499", "id-1499")
		second.ok(nil)
	})
	size := len(`{"namespace":"default","behavior":"echo","id":"id-1","params":{"of":"id-1"}}`)
	inPipe(t, client.Config{BatchBytes: 3 * (size + 1)}, func(p *pipe, first, second *heldRequest) {
		p.submit(p.t.Context(), ids[:4]...)
		first.ok(nil)
		p.next(ids[:3]...).ok(nil)
		p.next(ids[3]).ok(nil)
		second.ok(nil)
	})
}

// TestPipelineLeave: a caller that leaves gets its context's error, which says whether nothing was sent or the outcome is
// unknown. The other callers are served.
func TestPipelineLeave(t *testing.T) {
	inPipe(t, client.Config{}, func(p *pipe, first, second *heldRequest) {
		early, leaveEarly := context.WithCancel(p.t.Context())
		late, leaveLate := context.WithCancel(p.t.Context())
		p.submit(early, "aaa")
		p.submit(late, "bbb")
		p.submit(p.t.Context(), "ccc")
		leaveEarly()
		p.want("aaa", "unreachable cancelled")
		first.ok(nil)
		group := p.next("bbb", "ccc")
		leaveLate()
		p.want("bbb", "outcome_unknown cancelled")
		p.want("ccc", "")
		group.ok(nil)
		p.want("ccc", "ccc")
		second.ok(nil)
	})
	inPipe(t, client.Config{}, func(p *pipe, first, second *heldRequest) {
		ctx, leave := context.WithCancel(p.t.Context())
		p.submit(ctx, "aaa", "bbb")
		first.ok(nil)
		p.next("aaa", "bbb")
		leave() // no caller is left, so the request is given up, and its place is free
		p.want("aaa", "outcome_unknown cancelled")
		p.want("bbb", "outcome_unknown cancelled")
		p.submit(p.t.Context(), "ccc")
		p.next("ccc").ok(nil)
		second.ok(nil)
	})
}

// TestPipelineAlone: a submit goes alone if only a request of its own can be answered rightly, or sent again.
func TestPipelineAlone(t *testing.T) {
	inPipe(t, client.Config{}, func(p *pipe, first, second *heldRequest) {
		p.submit(client.WithIdempotencyKey(p.t.Context(), "key-1"), "keyed")
		x := p.next("keyed")
		if x.key != "key-1" {
			p.t.Errorf("key %q", x.key)
		}
		x.ok(nil)
		p.submit(p.t.Context(), "aaa", "bbb", "ccc")
		first.ok(nil)
		p.next("aaa", "bbb", "ccc").ok(map[string]string{"bbb": "not_ready"}) // nothing was done for bbb, so it is sent again
		p.want("aaa", "aaa")
		p.want("bbb", "")
		p.next("bbb").ok(nil)
		p.want("bbb", "bbb")
		p.submit(p.t.Context(), "ddd", "eee")
		second.ok(nil)
		x = p.next("ddd") // a place was free
		p.submit(p.t.Context(), "fff")
		y := p.next("eee")
		x.ok(nil)
		y.ok(nil)
		p.next("fff").problem("too_large")
		p.want("fff", "too_large")
	})
	inPipe(t, client.Config{}, func(p *pipe, first, second *heldRequest) {
		p.submit(p.t.Context(), "aaa", "bbb")
		first.ok(nil)
		p.next("aaa", "bbb").problem("too_large") // both together are too large
		x, y := <-p.held.requests, <-p.held.requests
		x.ok(nil)
		y.ok(nil)
		p.want("aaa", "aaa")
		p.want("bbb", "bbb")
		second.ok(nil)
	})
}

// TestPipelineTraced: submits of different traces share a request, each with its own (SPEC U2). Where a server does not take that, each goes alone,
// with the trace in the header, and from then on at once.
func TestPipelineTraced(t *testing.T) {
	const one, two = "00-11111111111111111111111111111111-1111111111111111-01", "00-22222222222222222222222222222222-2222222222222222-01"
	traced := func(p *pipe, parent, state string) context.Context {
		return tracing.WithState(tracing.WithParent(p.t.Context(), parent), state)
	}
	inPipe(t, client.Config{}, func(p *pipe, first, second *heldRequest) {
		p.submit(traced(p, one, ""), "aaa")
		x := p.next("aaa")
		p.submit(traced(p, one, ""), "bbb")
		y := p.next("bbb")
		p.submit(traced(p, one, "v=1"), "ccc")
		p.submit(traced(p, two, ""), "ddd")
		own := api.SubmitRequest{Behavior: "echo", ID: "eee", IfExists: "join", Traceparent: two, Tracestate: "v=2"}
		p.send(traced(p, one, ""), own)
		x.ok(nil)
		z := p.next("ccc", "ddd", "eee")
		if want := []string{one + " v=1", two, two + " v=2"}; !slices.Equal(z.traces, want) || z.header != "" {
			p.t.Errorf("traces %q, header %q", z.traces, z.header)
		}
		z.ok(nil)
		y.ok(nil)
		first.ok(nil)
		second.ok(nil)
	})
	inPipe(t, client.Config{}, func(p *pipe, first, second *heldRequest) { // a server of version 0.1.0
		p.submit(traced(p, one, ""), "aaa")
		p.next("aaa").problem("unknown_field")
		for _, id := range []string{"aaa", "bbb"} {
			if id == "bbb" {
				p.submit(traced(p, one, ""), "bbb")
			}
			x := p.next(id)
			if x.header != one || !slices.Equal(x.traces, []string{""}) {
				p.t.Errorf("%s: header %q, traces %q", id, x.header, x.traces)
			}
			x.ok(nil)
			p.want(id, id)
		}
		first.ok(nil)
		second.ok(nil)
	})
}

// TestPipelineLanes: submits that may be sent again do not share a request with other submits. What becomes of a submit when
// the connection breaks must not depend on other submits of the same moment.
func TestPipelineLanes(t *testing.T) {
	inPipe(t, client.Config{}, func(p *pipe, first, second *heldRequest) {
		once := func(id string) api.SubmitRequest {
			return api.SubmitRequest{Behavior: "echo", ID: id, IfExists: "fail"}
		}
		p.send(p.t.Context(), once("once-1"))
		x := p.next("once-1")
		p.send(p.t.Context(), once("once-2"))
		y := p.next("once-2")
		p.submit(p.t.Context(), "aaa")
		p.send(p.t.Context(), once("once-3"))
		p.submit(p.t.Context(), "bbb")
		p.send(p.t.Context(), once("once-4"))
		first.ok(nil)
		group := p.next("aaa", "bbb")
		group.problem("outcome_unknown")
		(<-p.held.requests).ok(nil)
		p.want("aaa", "aaa")
		x.ok(nil)
		p.next("once-3", "once-4").problem("outcome_unknown")
		p.want("once-3", "outcome_unknown")
		p.want("once-4", "outcome_unknown")
		p.none()
		y.ok(nil)
		second.ok(nil)
	})
}

// TestPipelineClose: a closed client ends its requests under way, and answers every caller.
func TestPipelineClose(t *testing.T) {
	inPipe(t, client.Config{}, func(p *pipe, _, _ *heldRequest) {
		p.submit(p.t.Context(), "aaa", "bbb")
		go p.client.Close()
		p.want("first-1", "outcome_unknown cancelled")
		for _, id := range []string{"aaa", "bbb"} {
			p.mu.Lock()
			if p.got[id] == "" || p.got[id] == id {
				p.t.Errorf("%s got %q", id, p.got[id])
			}
			p.mu.Unlock()
		}
	})
}
