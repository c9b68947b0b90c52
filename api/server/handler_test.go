package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/apitest"
	"github.com/taskrt/taskrt/api/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is a handler over the in-memory Service with one behavior.
type site struct {
	t    *testing.T
	fake *apitest.Fake
	http *httptest.Server
}

func newServer(t *testing.T, c server.Config) *site {
	t.Helper()
	c.Logger = slog.New(slog.DiscardHandler)
	s := &site{t: t, fake: apitest.NewFake()}
	t.Cleanup(s.fake.Close)
	s.http = httptest.NewServer(server.New(s.fake, c))
	t.Cleanup(s.http.Close)
	if _, err := s.fake.Push(t.Context(), api.PushRequest{Name: "apitest.ok", Wasm: bytes.NewReader(apitest.ModuleOK(""))}); err != nil {
		t.Fatal(err)
	}
	return s
}

// answer is the answer to a request.
type answer struct {
	status  int
	header  http.Header
	body    string
	problem api.Error
}

// do sends a request. A JSON body has the Content-Type of JSON.
func (s *site) do(method, path, body string, headers ...string) answer {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.http.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return s.send(req)
}

func (s *site) send(req *http.Request) answer {
	s.t.Helper()
	res, err := s.http.Client().Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	a := answer{status: res.StatusCode, header: res.Header, body: string(b)}
	if res.StatusCode >= 400 {
		if ct := res.Header.Get("Content-Type"); ct != "application/problem+json" {
			s.t.Errorf("%s %s: status %d as %s: %s", req.Method, req.URL, res.StatusCode, ct, b)
		}
		if err := json.Unmarshal(b, &a.problem); err != nil {
			s.t.Errorf("%s %s: %v in %s", req.Method, req.URL, err, b)
		}
		if a.problem.Status != a.status || a.problem.Code == "" || a.problem.Title == "" || a.problem.Type != api.TypeOf(a.problem.Code) {
			s.t.Errorf("%s %s: problem %+v with status %d", req.Method, req.URL, a.problem, a.status)
		}
	}
	return a
}

func (s *site) want(a answer, status int, code, field string) {
	s.t.Helper()
	if a.status != status || a.problem.Code != code || a.problem.Field != field {
		s.t.Errorf("status %d, %+v; want %d %s for field %q", a.status, a.problem, status, code, field)
	}
}

func TestRoutes(t *testing.T) {
	s := newServer(t, server.Config{})
	for _, path := range []string{"/", "/v1", "/v1/", "/v1/tasks/", "/v1//tasks", "/v1/tasks/abc/", "/v1/tasks/abc/nothing", "/v1/tasks/a%2F..%2Fb", "/v2/tasks", "/debug/pprof/"} {
		s.want(s.do("GET", path, ""), 404, "not_found", "")
	}
	for _, c := range []struct{ method, path, allow string }{
		{"PUT", "/v1/tasks", "GET, HEAD, POST"},
		{"DELETE", "/v1/tasks", "GET, HEAD, POST"},
		{"POST", "/v1/tasks/abc", "DELETE, GET, HEAD"},
		{"GET", "/v1/tasks/abc/cancel", "POST"},
		{"POST", "/v1/cluster", "GET, HEAD"},
		{"OPTIONS", "/v1/behaviors", "GET, HEAD"},
		{"PATCH", "/v1/modules", "GET, HEAD, POST"},
		{"PUT", "/v1/namespaces/default", "GET, HEAD, PATCH"},
	} {
		a := s.do(c.method, c.path, "")
		s.want(a, 405, "method_not_allowed", "")
		if a.header.Get("Allow") != c.allow {
			t.Errorf("%s %s: Allow %q, want %q", c.method, c.path, a.header.Get("Allow"), c.allow)
		}
	}
	for path, want := range map[string]string{"/healthz": `{"status":"ok"}`, "/readyz": `{"status":"ready"}`} {
		if a := s.do("GET", path, ""); a.status != 200 || strings.TrimSpace(a.body) != want {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	if a := s.do("HEAD", "/v1/tasks", ""); a.status != 200 || a.body != "" {
		t.Errorf("HEAD: %d %q", a.status, a.body)
	}
	s.want(s.do("GET", "/v1/tasks", "{}"), 400, "bad_request", "")
}

// TestRequestsAreTold: OnRequest is told of every request once, by its route and never by its path.
func TestRequestsAreTold(t *testing.T) {
	var mu sync.Mutex
	var told []string
	s := newServer(t, server.Config{
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "numbers") }),
		OnRequest: func(route, method string, status int, took time.Duration, trace string) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, fmt.Sprintf("%s %s %d%s", method, route, status, trace))
			if took < 0 {
				t.Errorf("took %v", took)
			}
		},
	})
	s.do("POST", "/v1/tasks", `{"behavior":"apitest.ok","id":"abc"}`)
	s.do("GET", "/v1/tasks/abc", "")
	s.do("GET", "/v1/tasks/no-such-task", "", "Traceparent", " of a trace")
	s.do("GET", "/v1/nothing/here", "")
	s.do("MADEUP", "/v1/tasks", "")
	s.do("GET", "/taskstore/group/x%2Fy", "")
	if a := s.do("GET", "/metrics", ""); a.status != 200 || a.body != "numbers" {
		t.Errorf("/metrics: %d %s", a.status, a.body)
	}
	s.http.Close() // this waits for the handlers
	mu.Lock()
	defer mu.Unlock()
	want := []string{
		"POST /v1/tasks 201", "GET /v1/tasks/{id} 200", "GET /v1/tasks/{id} 404of a trace", "  404", "  405", "GET /taskstore/group/{group} 200", "GET /metrics 200",
	}
	slices.Sort(told) // because a handler may end after its client has sent the next request
	slices.Sort(want)
	if !slices.Equal(told, want) {
		t.Errorf("told %q\nwant %q", told, want)
	}
}

// TestProblemsAreTold: OnProblem is told of every error that is answered, of those in the entries of a batch, too.
func TestProblemsAreTold(t *testing.T) {
	var mu sync.Mutex
	told := map[string]int{}
	s := newServer(t, server.Config{OnProblem: func(code string) {
		mu.Lock()
		defer mu.Unlock()
		told[code]++
	}})
	s.do("POST", "/v1/tasks", `{"tasks":[{"behavior":"apitest.ok"},{"behavior":"none"},{"behavior":"none"},{"behavior":"b","params":1,"bad":2}]}`)
	s.do("POST", "/v1/tasks:finish", `{"reports":[{"id":"no-such-task","token":1}]}`)
	s.do("GET", "/v1/tasks/no-such-task", "")
	s.do("GET", "/v1/nothing/here", "")
	s.do("GET", "/taskstore/nothing", "")
	s.http.Close()
	mu.Lock()
	defer mu.Unlock()
	want := map[string]int{"behavior_not_found": 2, "unknown_field": 1, "task_not_found": 1, "halt": 1, "not_found": 2}
	if !maps.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
}

func TestNoMetrics(t *testing.T) {
	s := newServer(t, server.Config{})
	s.want(s.do("GET", "/metrics", ""), 404, "not_found", "")
}

func TestSubmitOverHTTP(t *testing.T) {
	s := newServer(t, server.Config{})
	a := s.do("POST", "/v1/tasks", `{"behavior":"apitest.ok","id":"abc","params":{"x": "<&>"}}`)
	if a.status != 201 || !strings.Contains(a.body, `"params":{"x":"<&>"}`) || a.header.Get("Taskrt-Index") == "" || a.header.Get("Location") != "/v1/tasks/abc" {
		t.Errorf("created: %d %v %s", a.status, a.header, a.body)
	}
	a = s.do("POST", "/v1/tasks", `{"behavior":"apitest.ok","id":"short"}`, "Prefer", "return=minimal")
	if a.status != 201 || a.header.Get("Location") != "/v1/tasks/short" {
		t.Errorf("created: %d %v %s", a.status, a.header, a.body)
	}
	a = s.do("POST", "/v1/tasks", `{"behavior":"apitest.ok","id":"abc","params":{ "x":"<&>" }}`, "Content-Type", "Application/JSON; charset=UTF-8")
	if a.status != 200 || !strings.Contains(a.body, `"outcome":"existing"`) {
		t.Errorf("existing: %d %s", a.status, a.body)
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, s.http.URL+"/v1/tasks", strings.NewReader(`{"behavior":"apitest.ok"}`))
	if a := s.send(req); a.status != 201 {
		t.Errorf("without Content-Type: %d %s", a.status, a.body)
	}
	if a := s.do("POST", "/v1/tasks?namespace=default", `{"behavior":"apitest.ok"}`); a.status != 201 {
		t.Errorf("namespace: %d %s", a.status, a.body)
	}
	for _, c := range []struct {
		name, path, body string
		status           int
		code, field      string
	}{
		{"two namespaces", "/v1/tasks?namespace=default", `{"behavior":"apitest.ok","namespace":"other"}`, 400, "invalid_field", "namespace"},
		{"unknown namespace", "/v1/tasks?namespace=nowhere", `{"behavior":"apitest.ok"}`, 404, "namespace_not_found", "namespace"},
		{"unknown query", "/v1/tasks?waits=5s", `{"behavior":"apitest.ok"}`, 400, "unknown_field", "waits"},
		{"bad wait", "/v1/tasks?wait=5", `{"behavior":"apitest.ok"}`, 400, "invalid_field", "wait"},
		{"long wait", "/v1/tasks?wait=6m", `{"behavior":"apitest.ok"}`, 400, "invalid_field", "wait"},
		{"wait for a batch", "/v1/tasks?wait=5s", `{"tasks":[{"behavior":"apitest.ok"}]}`, 400, "invalid_field", "wait"},
		{"bad query", "/v1/tasks?a=%zz", `{"behavior":"apitest.ok"}`, 400, "bad_request", ""},
		{"unknown field", "/v1/tasks", `{"behavior":"apitest.ok","colour":1}`, 400, "unknown_field", "colour"},
		{"unknown behavior", "/v1/tasks", `{"behavior":"nobody"}`, 404, "behavior_not_found", "behavior"},
		{"no body", "/v1/tasks", ``, 400, "invalid_json", ""},
		{"no such blob", "/v1/tasks", `{"behavior":"apitest.ok","params":` + string(api.BlobRef(strings.Repeat("0", 64))) + `}`, 409, "blob_gone", "params"},
		{"too large body", "/v1/tasks", strings.Repeat(" ", api.MaxBody) + `{}`, 413, "too_large", ""},
	} {
		t.Run(c.name, func(t *testing.T) { s.want(s.do("POST", c.path, c.body), c.status, c.code, c.field) })
	}
	for _, contentType := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json; charset=latin1", ";"} {
		s.want(s.do("POST", "/v1/tasks", `{"behavior":"apitest.ok"}`, "Content-Type", contentType), 415, "unsupported_media_type", "Content-Type")
	}
	chunked, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, s.http.URL+"/v1/tasks", io.MultiReader(strings.NewReader(strings.Repeat(" ", api.MaxBody)), strings.NewReader("{}")))
	s.want(s.send(chunked), 413, "too_large", "")
}

func TestBatchOverHTTP(t *testing.T) {
	s := newServer(t, server.Config{})
	a := s.do("POST", "/v1/tasks?namespace=default", `{"tasks":[
		{"behavior":"apitest.ok","id":"one"}, {"behavior":"nobody"}, 7, {"behavior":"apitest.ok","colour":"red"},
		{"behavior":"apitest.ok","namespace":"other"}, {"behavior":"apitest.ok","id":"one"}]}`)
	if a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	var got struct {
		Results []struct {
			Task    *api.Task
			Outcome string
			Error   *api.Error
		}
	}
	if err := json.Unmarshal([]byte(a.body), &got); err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, r := range got.Results {
		if r.Error != nil {
			words = append(words, fmt.Sprint(r.Error.Status, " ", r.Error.Code, " ", r.Error.Field))
			if r.Error.Type != api.TypeOf(r.Error.Code) {
				t.Errorf("%s has the type %q", r.Error.Code, r.Error.Type)
			}
		} else {
			words = append(words, r.Outcome+" "+r.Task.ID)
		}
	}
	want := "created one|404 behavior_not_found behavior|400 invalid_json |400 unknown_field colour|400 invalid_field namespace|existing one"
	if strings.Join(words, "|") != want {
		t.Errorf("results %q, want %q", words, want)
	}
	if a := s.do("POST", "/v1/tasks", `{"tasks":[]}`); a.status != 200 || strings.TrimSpace(a.body) != `{"results":[]}` {
		t.Errorf("empty batch: %d %s", a.status, a.body)
	}
	// A batch with a bad envelope stores nothing.
	item := `{"behavior":"apitest.ok","id":"stored-by-mistake"}`
	for name, c := range map[string]struct {
		body        string
		status      int
		code, field string
	}{
		"unknown field": {`{"tasks":[` + item + `],"atomic":true}`, 400, "unknown_field", "atomic"},
		"twice":         {`{"tasks":[` + item + `],"tasks":[]}`, 400, "invalid_json", "tasks"},
		"both":          {`{"tasks":[` + item + `],"behavior":"apitest.ok"}`, 400, "unknown_field", "behavior"},
		"no list":       {`{"tasks":{}}`, 400, "invalid_field", "tasks"},
		"null":          {`{"tasks":null}`, 400, "invalid_field", "tasks"},
		"not closed":    {`{"tasks":[` + item, 400, "invalid_json", ""},
		"too many":      {`{"tasks":[` + item + strings.Repeat(",{}", api.MaxBatch) + `]}`, 413, "too_large", "tasks"},
		"bad namespace": {`{"tasks":[` + item + `],"namespace":"a b"}`, 400, "invalid_field", "namespace"},
		"many more":     {`{"tasks":[` + item + strings.Repeat(",0", 200_000) + `]}`, 413, "too_large", "tasks"},
	} {
		t.Run(name, func(t *testing.T) { s.want(s.do("POST", "/v1/tasks", c.body), c.status, c.code, c.field) })
	}
	s.want(s.do("GET", "/v1/tasks/stored-by-mistake", ""), 404, "task_not_found", "")
}

func TestReadQueries(t *testing.T) {
	s := newServer(t, server.Config{})
	s.do("POST", "/v1/tasks", `{"behavior":"apitest.ok","id":"abc"}`)
	for _, path := range []string{
		"/v1/tasks/abc?wait=0s", "/v1/tasks/abc?wait=1s&until=success&since=1&consistency=strong", "/v1/tasks/abc?consistency=stale&min_index=1",
		"/v1/tasks?status=SUCCESS&behavior=apitest.ok&limit=1", "/v1/tasks?due_before=2026-01-01T00:00:00Z&label=a=b&parent=x", "/v1/behaviors?namespace=default",
	} {
		if a := s.do("GET", path, ""); a.status != 200 {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	for path, field := range map[string]string{
		"/v1/tasks/abc?wait=soon": "wait", "/v1/tasks/abc?wait=-1s": "wait", "/v1/tasks/abc?wait=6m": "wait", "/v1/tasks/abc?wait=5": "wait",
		"/v1/tasks/abc?until=done": "until", "/v1/tasks/abc?since=-1": "since", "/v1/tasks/abc?consistency=eventual": "consistency",
		"/v1/tasks/abc?min_index=x": "min_index", "/v1/tasks/abc?wait=1s&wait=2s": "wait", "/v1/tasks/a": "id", "/v1/tasks/a%00b": "id", "/v1/tasks/caf%C3%A9": "id",
		"/v1/tasks?limit=0": "limit", "/v1/tasks?limit=1001": "limit", "/v1/tasks?limit=x": "limit", "/v1/tasks?limit=99999999999999999999": "limit",
		"/v1/tasks?status=done": "status", "/v1/tasks?label=x": "label", "/v1/tasks?due_before=now": "due_before",
		"/v1/tasks?fields=ID": "fields", "/v1/tasks?order=up": "order", "/v1/tasks?final=perhaps": "final", "/v1/tasks?started_to=1": "started_to",
		"/v1/modules/abc": "digest", "/v1/behaviors/A%20B": "name", "/v1/cluster?namespace=a%20b": "namespace",
	} {
		a := s.do("GET", path, "")
		if a.status != 400 || a.problem.Field != field {
			t.Errorf("%s: %d %+v, want 400 for %s", path, a.status, a.problem, field)
		}
	}
	s.want(s.do("GET", "/v1/tasks/abc?wiat=5s", ""), 400, "unknown_field", "wiat")
	lean := s.do("GET", "/v1/tasks?fields=id&fields=behavior&fields=error&id_prefix=ab&order=desc&count=true", "")
	if want := `{"tasks":[{"id":"abc","behavior":"apitest.ok"}],"examined":1,"count":1}`; strings.TrimSpace(lean.body) != want {
		t.Errorf("lean: %s, want %s", lean.body, want)
	}
	s.want(s.do("GET", "/v1/tasks/abc?namespace=nowhere", ""), 404, "namespace_not_found", "namespace")
}

func TestCancelAndRemoveOverHTTP(t *testing.T) {
	s := newServer(t, server.Config{})
	s.do("POST", "/v1/tasks", `{"behavior":"apitest.ok","id":"later","delay":"1h"}`)
	s.want(s.do("POST", "/v1/tasks/later/cancel", `{"force":true}`), 400, "unknown_field", "force")
	if a := s.do("POST", "/v1/tasks/later/cancel", `{}`); a.status != 200 || !strings.Contains(a.body, `"CANCELLED"`) {
		t.Errorf("cancel: %d %s", a.status, a.body)
	}
	if a := s.do("DELETE", "/v1/tasks/later", ""); a.status != 204 || a.body != "" {
		t.Errorf("delete: %d %q", a.status, a.body)
	}
	s.want(s.do("DELETE", "/v1/tasks/later", ""), 404, "task_not_found", "")
	if _, err := s.fake.Push(t.Context(), api.PushRequest{Name: "apitest.spin", Wasm: bytes.NewReader(apitest.ModuleSpin(""))}); err != nil {
		t.Fatal(err)
	}
	s.do("POST", "/v1/tasks", `{"behavior":"apitest.spin","id":"spin"}`)
	s.do("GET", "/v1/tasks/spin?wait=10s&until=running", "")
	if a := s.do("POST", "/v1/tasks/spin/cancel", ""); a.status != 202 {
		t.Errorf("cancel of a running task: %d %s", a.status, a.body)
	}
}

func TestPushOverHTTP(t *testing.T) {
	s := newServer(t, server.Config{})
	wasm := string(apitest.ModuleOK("http"))
	const kind = "application/wasm"
	if a := s.do("POST", "/v1/modules?name=apitest.http", wasm, "Content-Type", kind); a.status != 200 || !strings.HasPrefix(a.body, `{"module":{"digest":"`) {
		t.Errorf("push: %d %s", a.status, a.body)
	}
	manifest := "%7B%22schema%22:1,%22behaviors%22:%5B%7B%22name%22:%22apitest.other%22%7D%5D%7D"
	if a := s.do("POST", "/v1/modules?manifest="+manifest, wasm, "Content-Type", kind); a.status != 200 || !strings.Contains(a.body, "apitest.other") {
		t.Errorf("push with manifest: %d %s", a.status, a.body)
	}
	parts := func(parts ...string) (body, contentType string) {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		for i := 0; i < len(parts); i += 2 {
			p, _ := w.CreateFormField(parts[i])
			_, _ = p.Write([]byte(parts[i+1]))
		}
		_ = w.Close()
		return b.String(), w.FormDataContentType()
	}
	body, contentType := parts("name", "apitest.multi", "module", wasm)
	if a := s.do("POST", "/v1/modules", body, "Content-Type", contentType); a.status != 200 || !strings.Contains(a.body, "apitest.multi") {
		t.Errorf("multipart: %d %s", a.status, a.body)
	}
	for name, c := range map[string]struct {
		parts       []string
		status      int
		code, field string
	}{
		"no module":    {[]string{"name", "apitest.multi"}, 400, "invalid_field", "module"},
		"twice":        {[]string{"module", wasm, "module", wasm}, 400, "invalid_field", "module"},
		"unknown":      {[]string{"module", wasm, "colour", "red"}, 400, "unknown_field", "colour"},
		"bad manifest": {[]string{"module", wasm, "manifest", "{"}, 400, "invalid_json", "manifest"},
		"not wasm":     {[]string{"module", "hello", "name", "apitest.multi"}, 422, "not_wasm", ""},
	} {
		t.Run(name, func(t *testing.T) {
			body, contentType := parts(c.parts...)
			s.want(s.do("POST", "/v1/modules", body, "Content-Type", contentType), c.status, c.code, c.field)
		})
	}
	s.want(s.do("POST", "/v1/modules", "--x\r\nbroken", "Content-Type", "multipart/form-data; boundary=x"), 400, "bad_request", "")
	s.want(s.do("POST", "/v1/modules?name=x", wasm, "Content-Type", kind), 400, "invalid_field", "name")
	s.want(s.do("POST", "/v1/modules?colour=red", wasm, "Content-Type", kind), 400, "unknown_field", "colour")
	s.want(s.do("POST", "/v1/modules", wasm, "Content-Type", "application/octet-stream"), 415, "unsupported_media_type", "Content-Type")
	s.want(s.do("POST", "/v1/modules?name=apitest.bad", "", "Content-Type", kind), 422, "not_wasm", "")
	// 100 MiB are refused before they are read.
	huge, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, s.http.URL+"/v1/modules?name=apitest.bad", io.LimitReader(zeros{}, 100<<20))
	huge.ContentLength = 100 << 20
	huge.Header.Set("Content-Type", kind)
	s.want(s.send(huge), 413, "too_large", "")
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// broken is a Service that panics, fails or hangs, as the request asks.
type broken struct {
	api.Service

	started chan struct{}
	release chan struct{}
}

func (b *broken) Cluster(context.Context) (*api.Cluster, error) { panic("on purpose") }

func (b *broken) Behaviors(context.Context, string) ([]api.Behavior, error) {
	return nil, errors.New("the secret of the database")
}

func (b *broken) Modules(context.Context, string) ([]api.Module, error) {
	return nil, fmt.Errorf("wrapped: %w", &api.Error{Code: "overloaded", Detail: "later"})
}

func (b *broken) Workers(context.Context) ([]api.Worker, error) {
	return nil, api.NewError(api.CodeNoLeader, "an election is on")
}

func (b *broken) Maintenance(context.Context) (*api.MaintenanceInfo, error) {
	return nil, api.NewError(api.CodeOutcomeUnknown, "the leader went")
}

func (b *broken) Task(ctx context.Context, _, _ string, _ api.GetOptions) (*api.Task, error) {
	b.started <- struct{}{}
	select {
	case <-b.release:
		return &api.Task{ID: "abc", CreatedAt: api.TimeOf(1)}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestBrokenService: an internal error is logged, and the client sees nothing of it (SPEC C5).
func TestBrokenService(t *testing.T) {
	var log bytes.Buffer
	h := httptest.NewServer(server.New(&broken{}, server.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}))
	t.Cleanup(h.Close)
	s := &site{t: t, http: h}
	a := s.do("GET", "/v1/cluster", "")
	s.want(a, 500, "internal", "")
	if !strings.Contains(log.String(), "on purpose") || strings.Contains(a.body, "purpose") {
		t.Errorf("a panic belongs into the log (%q), not into the answer (%s)", log.String(), a.body)
	}
	a = s.do("GET", "/v1/behaviors", "")
	s.want(a, 500, "internal", "")
	if strings.Contains(a.body, "secret") || !strings.Contains(log.String(), "secret") {
		t.Errorf("an internal error belongs into the log (%q), not into the answer (%s)", log.String(), a.body)
	}
	a = s.do("GET", "/v1/modules", "")
	s.want(a, 429, "overloaded", "")
	if a.header.Get("Retry-After") != "1" || a.problem.RetryMS != 1000 || !strings.Contains(a.body, `"retry_after_ms":1000`) {
		t.Errorf("Retry-After %q, %+v", a.header.Get("Retry-After"), a.problem)
	}
	a = s.do("GET", "/v1/workers", "")
	s.want(a, 503, "no_leader", "")
	if a.header.Get("Retry-After") != "1" || a.problem.RetryMS != 1000 {
		t.Errorf("Retry-After %q, %+v: nothing was done, and it passes by itself", a.header.Get("Retry-After"), a.problem)
	}
	a = s.do("GET", "/v1/maintenance", "")
	s.want(a, 503, "outcome_unknown", "")
	if a.header.Get("Retry-After") != "" {
		t.Errorf("Retry-After %q invites to do it twice", a.header.Get("Retry-After"))
	}
	if a := s.do("GET", "/healthz", ""); a.status != 200 {
		t.Errorf("after all that: %d", a.status)
	}
}

// TestOverload: a request beyond the budgets is refused with 429 before memory grows (SPEC H3). Afterwards requests work again.
func TestOverload(t *testing.T) {
	b := &broken{started: make(chan struct{}, 1), release: make(chan struct{})}
	h := httptest.NewServer(server.New(b, server.Config{Requests: 1, BodyBytes: 1000, Logger: slog.New(slog.DiscardHandler)}))
	t.Cleanup(h.Close)
	s := &site{t: t, http: h}
	done := make(chan answer)
	go func() { done <- s.do("GET", "/v1/tasks/abc", "") }()
	<-b.started
	s.want(s.do("GET", "/healthz", ""), 429, "overloaded", "")
	close(b.release)
	if a := <-done; a.status != 200 {
		t.Errorf("the first request: %d %s", a.status, a.body)
	}
	s.want(s.do("POST", "/v1/tasks", strings.Repeat(" ", 1001)), 429, "overloaded", "")
	s.want(s.do("POST", "/v1/tasks", strings.Repeat(" ", 999)), 400, "invalid_json", "")
}

// TestServeStops: a clean stop ends long polls at once, with an answer after which clients go elsewhere. It lets other requests
// finish.
func TestServeStops(t *testing.T) {
	a := stopDuring(t, func(c *http.Client, base string) (*http.Response, error) {
		return c.Get(base + "/v1/tasks/later?wait=5m")
	})
	if !strings.HasPrefix(a, "503 ") || !strings.Contains(a, `"not_ready"`) {
		t.Errorf("the long poll got %s", a)
	}
}

// stopDuring stops a server while the request that send sends waits for a task, later, and returns its answer.
func stopDuring(t *testing.T, send func(c *http.Client, base string) (*http.Response, error)) string {
	t.Helper()
	fake := apitest.NewFake()
	t.Cleanup(fake.Close)
	if _, err := fake.Push(t.Context(), api.PushRequest{Name: "apitest.ok", Wasm: bytes.NewReader(apitest.ModuleOK(""))}); err != nil {
		t.Fatal(err)
	}
	hour := api.Duration(time.Hour)
	if _, err := fake.Submit(t.Context(), api.SubmitRequest{Behavior: "apitest.ok", ID: "later", Delay: &hour}); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	log := slog.New(slog.DiscardHandler)
	waiting := make(chan struct{})
	go func() {
		served <- server.Serve(ctx, ln, server.New(&notifying{fake, waiting}, server.Config{Logger: log, Stopping: ctx}), log)
	}()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	got := make(chan string, 1)
	go func() {
		res, err := send(&http.Client{Transport: transport}, "http://"+ln.Addr().String())
		if err != nil {
			got <- err.Error()
			return
		}
		defer res.Body.Close()
		b, _ := io.ReadAll(res.Body)
		got <- fmt.Sprint(res.StatusCode, " ", string(b))
	}()
	<-waiting
	stop()
	answer := <-got
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	return answer
}

// notifying tells when a wait has begun.
type notifying struct {
	api.Service

	waiting chan struct{}
}

func (n *notifying) Task(ctx context.Context, ns, id string, o api.GetOptions) (*api.Task, error) {
	close(n.waiting)
	return n.Service.Task(ctx, ns, id, o)
}

// TestSlowBody: a client that sends its body byte by byte does not hold the connection for long.
func TestSlowBody(t *testing.T) {
	s := newServer(t, server.Config{BodyTimeout: 50 * time.Millisecond})
	conn, err := net.Dial("tcp", s.http.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	b, err := io.ReadAll(conn) // ends when the server closes the connection
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(b), "HTTP/1.1 400 ") || !strings.Contains(string(b), `"bad_request"`) {
		t.Errorf("answer %q", b)
	}
}
