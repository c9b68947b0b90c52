package server_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/server"
)

// TestPartsAreStrict: values inside lists and objects of a body are decoded as strictly as the body (SPEC H2).
func TestPartsAreStrict(t *testing.T) {
	s := newServer(t, server.Config{})
	list := func(n int, item string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]"
	}
	for _, c := range []struct {
		path, body  string
		status      int
		code, field string
	}{
		{"/v1/txn", `{"submit":[{"behavior":"apitest.ok"},{"behavior":"apitest.ok","colour":1}]}`, 400, "unknown_field", "submit[1].colour"},
		{"/v1/txn", `{"delete":[{"id":"abc","id":"abd"}]}`, 400, "invalid_json", "delete[0].id"},
		{"/v1/txn", `{"delete":[7]}`, 400, "invalid_field", "delete[0]"},
		{"/v1/txn", `{"delete":{}}`, 400, "invalid_field", "delete"},
		{"/v1/txn", `{"delete":` + list(api.MaxParts+1, `{}`) + `}`, 413, "too_large", "delete"},
		{"/v1/txn", `{"update":[{"id":"abc","labels":{"a":"1","a":"2"}}]}`, 400, "invalid_json", "update[0].labels.a"},
		{"/v1/txn", `{"update":[{"id":"abc","delay":"-1s"}]}`, 400, "invalid_field", "update[0].delay"},
		{"/v1/txn", `{"update":[{"id":"abc","delay":"99999999h"}]}`, 400, "invalid_field", "update[0].delay"},
		{"/v1/txn", `{"update":[{"id":"abc","not_before":"10000-01-01T00:00:00Z"}]}`, 400, "invalid_field", "update[0].not_before"},
		{"/v1/txn", `{"finish":[{"id":"abc","token":1,"error":{"code":"a","retry":1}}]}`, 400, "unknown_field", "finish[0].error.retry"},
		{"/v1/txn", `{"finish":[{"id":"abc","token":-1}]}`, 400, "invalid_field", "finish[0].token"},
		{"/v1/txn", `{"finish":[{"id":"abc","token":18446744073709551616}]}`, 400, "invalid_field", "finish[0].token"},
		{"/v1/txn", `{"namespace":"a","delete":[{"id":"abc"}]}`, 404, "namespace_not_found", ""},
		{"/v1/txn?namespace=default", `{"namespace":"a","delete":[{"id":"abc"}]}`, 400, "invalid_field", "namespace"},
		{"/v1/tasks:finish", `{}`, 400, "invalid_field", "reports"},
		{"/v1/tasks:finish", `{"reports":` + list(api.MaxReports+1, `{"id":"abc","token":1}`) + `}`, 413, "too_large", "reports"},
		{"/v1/tasks/abc/finish", `{"id":"abd","token":1}`, 400, "invalid_field", "id"},
		{"/v1/tasks/abc/finish", `{"namespace":"other","token":1}`, 400, "invalid_field", "namespace"},
		{"/v1/tasks/abc/finish", `{"token":1,"error":"bad"}`, 400, "invalid_field", "error"},
		{"/v1/tasks/abc/finish", ``, 400, "invalid_json", ""},
		{"/v1/tasks/abc/finish", `{"token":1,"fuel_used":1}`, 400, "unknown_field", "fuel_used"},
		{"/v1/tasks/abc/snooze", `{"token":1,"fuel":1}`, 400, "unknown_field", "fuel"},
		{"/v1/txn", `{"finish":[{"id":"abc","token":1,"fuel_used":1}]}`, 400, "unknown_field", "finish[0].fuel_used"},
		{"/v1/tasks/abc/heartbeat", `{"token":1,"extend":5}`, 400, "invalid_field", "extend"},
		{"/v1/tasks/abc/snooze", `{"token":1,"again_at":"soon"}`, 400, "invalid_field", "again_at"},
		{"/v1/tasks/abc/retry", `{"version":7}`, 400, "invalid_field", "version"},
		{"/v1/tasks/abc/retry", ``, 404, "task_not_found", ""},
		{"/v1/tasks/abc/resubmit?force=1", `{}`, 400, "unknown_field", "force"},
		{"/v1/behaviors/apitest.ok/activate", `{}`, 400, "invalid_field", "version"},
		{"/v1/behaviors/apitest.ok/pause", `{"for":"1h"}`, 400, "unknown_field", "for"},
		{"/v1/behaviors/apitest.ok/accept", `{"worker":"a","max":1.5}`, 400, "invalid_field", "max"},
		{"/v1/behaviors/apitest.ok/accept", "{\"worker\":\"\xff\"}", 400, "invalid_json", ""},
		{"/v1/cluster/members/fake/drain", `{"drain":"yes"}`, 400, "invalid_field", "drain"},
		{"/v1/cluster/members/nobody/drain", ``, 404, "member_not_found", ""},
	} {
		a := s.do("POST", c.path, c.body)
		field := c.field
		if field == "" {
			field = a.problem.Field
		}
		if a.status != c.status || a.problem.Code != c.code || a.problem.Field != field {
			t.Errorf("%s %.100s: %d %+v, want %d %s for %q", c.path, c.body, a.status, a.problem, c.status, c.code, c.field)
		}
	}
	s.want(s.do("DELETE", "/v1/behaviors/apitest.ok?purge=maybe", ""), 400, "invalid_field", "purge")
	s.want(s.do("GET", "/v1/behaviors?namespace=a&namespace=b", ""), 400, "invalid_field", "namespace")
	s.want(s.do("GET", "/v1/tasks?cursor=%ff", ""), 400, "invalid_field", "cursor")
}

// TestFuelUsed: the entry of an attempt says how much fuel and memory it used (SPEC U1), and has no such field if nothing was metered.
func TestFuelUsed(t *testing.T) {
	s := newServer(t, server.Config{})
	s.do("POST", "/v1/tasks", `{"behavior":"apitest.ok","id":"metered"}`)
	if a := s.do("GET", "/v1/tasks/metered?wait=10s", ""); !regexp.MustCompile(`"outcome":"SUCCESS","fuel_used":[1-9][0-9]*,"peak_memory_bytes":[1-9][0-9]*}]`).MatchString(a.body) {
		t.Errorf("%s\nhas no fuel or memory", a.body)
	}
	s.do("PUT", "/v1/behaviors/mail", `{"kind":"external"}`)
	s.do("POST", "/v1/tasks", `{"behavior":"mail","id":"unmetered"}`)
	a := s.do("POST", "/v1/behaviors/mail/accept", `{"worker":"ann","wait":"10s"}`)
	token := regexp.MustCompile(`"token":([0-9]+)`).FindStringSubmatch(a.body)
	if token == nil {
		t.Fatalf("accepted %d %s", a.status, a.body)
	}
	a = s.do("POST", "/v1/tasks/unmetered/finish", `{"token":`+token[1]+`}`)
	if a.status != 200 || !strings.Contains(a.body, `"outcome":"SUCCESS"}]`) {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// TestTransactionOfTheLimit: a transaction of 512 KiB is read. A transaction of a byte more is not (SPEC X1).
func TestTransactionOfTheLimit(t *testing.T) {
	s := newServer(t, server.Config{})
	body := func(n int) string {
		const frame = `{"delete":[{"id":"abc"}]}`
		return frame + strings.Repeat(" ", n-len(frame))
	}
	s.want(s.do("POST", "/v1/txn", body(api.MaxTxnBytes)), 409, "conflict", "")
	a := s.do("POST", "/v1/txn", body(api.MaxTxnBytes+1))
	s.want(a, 413, "too_large", "")
	if a.problem.Limit != api.MaxTxnBytes {
		t.Errorf("limit %d", a.problem.Limit)
	}
	parts := api.TxnRequest{Depends: make([]api.TxnDepend, api.MaxTxnParts)}
	for i := range parts.Depends {
		parts.Depends[i].ID = fmt.Sprintf("part-%d", i)
	}
	if err := parts.Check(); err != nil {
		t.Errorf("1,000 parts: %v", err)
	}
	parts.Delete = []api.TxnDelete{{ID: "one-more"}}
	if err := parts.Check(); api.CodeOf(err) != api.CodeTooLarge {
		t.Errorf("1,001 parts: %v", err)
	}
}

// remembering is a Service that records under which key it is asked to submit.
type remembering struct {
	api.Service
	once []api.Once
}

func (r *remembering) Submit(ctx context.Context, s api.SubmitRequest) (*api.SubmitReply, error) {
	o, _ := api.OnceOf(ctx)
	r.once = append(r.once, o)
	return &api.SubmitReply{Task: &api.Task{ID: "abc", CreatedAt: api.TimeOf(1)}, Outcome: "created"}, nil
}

func (r *remembering) SubmitBatch(ctx context.Context, rs []api.SubmitRequest) ([]api.SubmitResult, error) {
	o, _ := api.OnceOf(ctx)
	r.once = append(r.once, o)
	return make([]api.SubmitResult, len(rs)), nil
}

func TestIdempotencyKey(t *testing.T) {
	r := &remembering{}
	h := httptest.NewServer(server.New(r, server.Config{Logger: slog.New(slog.DiscardHandler)}))
	t.Cleanup(h.Close)
	s := &site{t: t, http: h}
	submit := func(path, body, key string) api.Once {
		t.Helper()
		if a := s.do("POST", path, body, api.KeyHeader, key); a.status != 201 && a.status != 200 {
			t.Fatalf("%s %s: %d %s", path, body, a.status, a.body)
		}
		return r.once[len(r.once)-1]
	}
	const body = `{"behavior":"apitest.ok"}`
	first := submit("/v1/tasks", body, "k")
	if first.Key == 0 || first.Body == 0 {
		t.Fatalf("once %+v", first)
	}
	if again := submit("/v1/tasks", body, "k"); again != first {
		t.Errorf("the same again: %+v, want %+v", again, first)
	}
	if o := submit("/v1/tasks", body+" ", "k"); o.Key != first.Key || o.Body == first.Body {
		t.Errorf("another body: %+v after %+v", o, first)
	}
	if o := submit("/v1/tasks", body, "K"); o.Key == first.Key {
		t.Errorf("another key: %+v after %+v", o, first)
	}
	// The namespace belongs to the key, wherever it stands.
	query := submit("/v1/tasks?namespace=other", body, "k")
	inBody := submit("/v1/tasks", `{"behavior":"apitest.ok","namespace":"other"}`, "k")
	inBatch := submit("/v1/tasks", `{"namespace":"other","tasks":[`+body+`]}`, "k")
	if query.Key == first.Key || inBody.Key != query.Key || inBatch.Key != query.Key || inBody.Body == query.Body {
		t.Errorf("namespaces: %+v, %+v, %+v after %+v", query, inBody, inBatch, first)
	}
	for _, bad := range []string{"", " ", "a b", "é", strings.Repeat("k", api.MaxKey+1)} {
		s.want(s.do("POST", "/v1/tasks", body, api.KeyHeader, bad), 400, "invalid_field", api.KeyHeader)
	}
	submit("/v1/tasks", body, strings.Repeat("k", api.MaxKey))
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL+"/v1/tasks", strings.NewReader(body))
	req.Header.Add(api.KeyHeader, "a")
	req.Header.Add(api.KeyHeader, "b")
	s.want(s.send(req), 400, "invalid_field", api.KeyHeader)
	if a := s.do("GET", "/healthz", "", api.KeyHeader, "not looked at"); a.status != 200 {
		t.Errorf("a read with a key: %d %s", a.status, a.body)
	}
	if _, err := r.Submit(t.Context(), api.SubmitRequest{}); err != nil || r.once[len(r.once)-1] != (api.Once{}) {
		t.Errorf("without a key: %+v, %v", r.once[len(r.once)-1], err)
	}
}

// handing is a Service that hands out one task when the test says so.
type handing struct {
	api.Service
	asked    chan struct{}
	hand     chan struct{}
	request  api.AcceptRequest
	returned int
}

func newHanding() *handing { return &handing{asked: make(chan struct{}), hand: make(chan struct{})} }

func (h *handing) Accept(ctx context.Context, r api.AcceptRequest) (*api.AcceptReply, error) {
	h.request = r
	close(h.asked)
	<-h.hand
	return &api.AcceptReply{
		Tasks: []*api.Task{{ID: "abc", CreatedAt: api.TimeOf(1)}}, Undelivered: func() { h.returned++ },
	}, nil
}

// deaf is a connection to which nothing can be written, or which only cannot be flushed.
type deaf struct {
	http.ResponseWriter
	write, flush error
}

func (d deaf) Write(b []byte) (int, error) { return len(b), d.write }

func (d deaf) FlushError() error { return d.flush }

// TestAcceptUndelivered: tasks whose answer could not be written to the connection are given back (SPEC J2).
func TestAcceptUndelivered(t *testing.T) {
	broken := errors.New("connection reset")
	for name, c := range map[string]struct {
		w        deaf
		hangUp   bool
		returned int
	}{
		"delivered": {deaf{}, false, 0}, "not written": {deaf{write: broken}, false, 1},
		"not flushed": {deaf{flush: broken}, false, 1}, "hung up": {deaf{}, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHanding()
			handler := server.New(h, server.Config{Logger: slog.New(slog.DiscardHandler)})
			ctx, hangUp := context.WithCancel(t.Context())
			defer hangUp()
			req := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/v1/behaviors/apitest.ok/accept", strings.NewReader(`{"worker":"w"}`))
			req.Header.Set(api.KeyHeader, strings.Repeat("k", 200))
			c.w.ResponseWriter = httptest.NewRecorder()
			done := make(chan struct{})
			go func() {
				defer close(done)
				handler.ServeHTTP(c.w, req)
			}()
			<-h.asked
			if c.hangUp {
				hangUp()
			}
			close(h.hand)
			<-done
			if h.returned != c.returned {
				t.Errorf("given back %d times, want %d", h.returned, c.returned)
			}
			if len(h.request.RequestID) != 64 || h.request.Max != 1 {
				t.Errorf("the key serves as request_id: %+v", h.request)
			}
		})
	}
}

// TestAcceptEnds: a wait ends when its client hangs up, and when the server stops.
func TestAcceptEnds(t *testing.T) {
	w := &waitingAcceptor{began: make(chan struct{}), ended: make(chan error, 1)}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	served, log := make(chan error, 1), slog.New(slog.DiscardHandler)
	go func() { served <- server.Serve(ctx, ln, server.New(w, server.Config{Logger: log, Stopping: ctx}), log) }()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	ask := func(ctx context.Context) (*http.Response, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+ln.Addr().String()+"/v1/behaviors/apitest.ok/accept", strings.NewReader(`{"worker":"w","wait":"5m"}`))
		if err != nil {
			t.Fatal(err)
		}
		return (&http.Client{Transport: transport}).Do(req)
	}
	asking, hangUp := context.WithCancel(t.Context())
	go func() { <-w.began; hangUp() }()
	if res, err := ask(asking); err == nil {
		_ = res.Body.Close()
		t.Errorf("who hung up got %d", res.StatusCode)
	}
	if err := <-w.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the wait of who hung up ended with %v", err)
	}
	go func() { <-w.began; stop() }()
	res, err := ask(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("the server stops: %d", res.StatusCode)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// waitingAcceptor is a Service whose accepts wait until their context ends.
type waitingAcceptor struct {
	api.Service
	began chan struct{}
	ended chan error
}

func (w *waitingAcceptor) Accept(ctx context.Context, _ api.AcceptRequest) (*api.AcceptReply, error) {
	w.began <- struct{}{}
	<-ctx.Done()
	w.ended <- ctx.Err()
	return nil, ctx.Err()
}
