package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/api/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scripted is a server that plays through a list of answers: "ok", "break" (the connection breaks after the request was read),
// or the code of a problem. It repeats the last answer.
type scripted struct {
	mu       sync.Mutex
	script   []string
	requests []string
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	what := s.script[0]
	if len(s.script) > 1 {
		s.script = s.script[1:]
	}
	s.requests = append(s.requests, r.Method+" "+r.URL.RequestURI())
	s.mu.Unlock()
	switch what {
	case "ok":
		w.Header().Set("Taskrt-Index", "7")
		w.WriteHeader(http.StatusOK)
		fmt.Fprint(w, `{"task":{"id":"abc","status":"SUCCESS","final":true},"outcome":"existing"}`)
	case "break":
		panic(http.ErrAbortHandler)
	case "gateway":
		http.Error(w, "bad gateway", http.StatusBadGateway)
	default:
		e := api.NewError(what, "scripted")
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(e.Status)
		fmt.Fprintf(w, `{"code":%q,"status":%d}`, e.Code, e.Status)
	}
}

func (s *scripted) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

// clientOf makes a client of servers with one script each.
func clientOf(t *testing.T, scripts ...[]string) (*client.Client, []*scripted) {
	t.Helper()
	var urls []string
	var servers []*scripted
	for _, script := range scripts {
		s := &scripted{script: script}
		h := httptest.NewServer(s)
		t.Cleanup(h.Close)
		urls, servers = append(urls, h.URL), append(servers, s)
	}
	c, err := client.New(client.Config{URLs: urls, RetryFor: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, servers
}

// TestClientResends: a client sends a request again only if it is safe to do the request twice (SPEC H4).
func TestClientResends(t *testing.T) {
	ctx := t.Context()
	named := api.SubmitRequest{Behavior: "abc", ID: "abc"}
	nameless := api.SubmitRequest{Behavior: "abc"}
	rerun := api.SubmitRequest{Behavior: "abc", ID: "abc", IfExists: "rerun"}
	fail := api.SubmitRequest{Behavior: "abc", ID: "abc", IfExists: "fail"}
	submit := func(r api.SubmitRequest) func(*client.Client) error {
		return func(c *client.Client) error { _, err := c.Submit(ctx, r); return err }
	}
	batch := func(rs ...api.SubmitRequest) func(*client.Client) error {
		return func(c *client.Client) error { _, err := c.SubmitBatch(ctx, rs); return err }
	}
	get := func(c *client.Client) error { _, err := c.Task(ctx, "", "abc", api.GetOptions{}); return err }
	cancel := func(c *client.Client) error { _, err := c.Cancel(ctx, "", "abc"); return err }
	remove := func(c *client.Client) error { return c.Remove(ctx, "", "abc") }
	push := func(c *client.Client) error {
		_, err := c.Push(ctx, api.PushRequest{Name: "abc", Wasm: strings.NewReader("wasm")})
		return err
	}
	for _, c := range []struct {
		name   string
		script []string
		call   func(*client.Client) error
		code   string // of the error; "": success
		sends  int
	}{
		{"read", []string{"break", "ok"}, get, "", 2},
		{"named submit", []string{"break", "ok"}, submit(named), "", 2},
		{"named submit, outcome unknown", []string{"outcome_unknown", "ok"}, submit(named), "", 2},
		{"named submit, proxy", []string{"gateway", "ok"}, submit(named), "", 2},
		{"nameless submit", []string{"break", "ok"}, submit(nameless), "outcome_unknown", 1},
		{"nameless submit, outcome unknown", []string{"outcome_unknown", "ok"}, submit(nameless), "outcome_unknown", 1},
		{"nameless submit, proxy", []string{"gateway", "ok"}, submit(nameless), "outcome_unknown", 1},
		{"nameless submit, nothing happened", []string{"no_leader", "not_ready", "overloaded", "ok"}, submit(nameless), "", 4},
		{"rerun", []string{"break", "ok"}, submit(rerun), "outcome_unknown", 1},
		{"fail", []string{"break", "ok"}, submit(fail), "outcome_unknown", 1},
		{"batch of named", []string{"break", "internal"}, batch(named, named), "internal", 2},
		{"batch with a nameless one", []string{"break", "ok"}, batch(named, nameless), "outcome_unknown", 1},
		{"cancel", []string{"break", "ok"}, cancel, "", 2},
		{"remove", []string{"break", "ok"}, remove, "", 2},
		{"remove, done by the first send", []string{"break", "task_not_found"}, remove, "", 2},
		{"remove, not there", []string{"task_not_found"}, remove, "task_not_found", 1},
		{"remove, refused before", []string{"no_leader", "task_not_found"}, remove, "task_not_found", 2},
		{"push", []string{"break", "ok"}, push, "", 2},
		{"refused", []string{"already_exists", "ok"}, submit(named), "already_exists", 1},
		{"no problem document", []string{"internal", "ok"}, get, "internal", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			client, servers := clientOf(t, c.script)
			err := c.call(client)
			if api.CodeOf(err) != c.code || (err != nil) != (c.code != "") {
				t.Errorf("error %v, want code %q", err, c.code)
			}
			if n := servers[0].count(); n != c.sends {
				t.Errorf("sent %d times, want %d: %q", n, c.sends, servers[0].requests)
			}
		})
	}
}

func TestClientFailsOver(t *testing.T) {
	dead := httptest.NewServer(nil)
	dead.Close()
	alive := httptest.NewServer(&scripted{script: []string{"ok"}})
	t.Cleanup(alive.Close)
	c, err := client.New(client.Config{URLs: []string{dead.URL, alive.URL + "/"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	ctx, meta := api.WithMeta(t.Context())
	// So is a submit without an ID, because nothing was sent to the dead node.
	if _, err := c.Submit(ctx, api.SubmitRequest{Behavior: "abc"}); err != nil {
		t.Fatal(err)
	}
	if meta.Index() != 7 || !strings.HasPrefix(string(meta.Body()), `{"task":{"id":"abc"`) {
		t.Errorf("index %d, body %s", meta.Index(), meta.Body())
	}
	client, servers := clientOf(t, []string{"no_leader"}, []string{"ok"})
	for range 3 {
		if _, err := client.Task(t.Context(), "", "abc", api.GetOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := servers[0].count(), servers[1].count(); a != 1 || b != 3 {
		t.Errorf("%d and %d requests: want the node that answered to be asked first from then on", a, b)
	}
}

func TestClientGivesUp(t *testing.T) {
	dead := httptest.NewServer(nil)
	dead.Close()
	c, err := client.New(client.Config{URLs: []string{dead.URL}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if _, err := c.Cluster(t.Context()); api.CodeOf(err) != client.CodeUnreachable {
		t.Errorf("nobody there: %v", err)
	}
	never, err := client.New(client.Config{URLs: []string{httptestURL(t, "no_leader")}, RetryFor: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(never.Close)
	if _, err := never.Cluster(t.Context()); api.CodeOf(err) != "no_leader" {
		t.Errorf("never a leader: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := never.Cluster(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	for _, bad := range []string{"", "ftp://x", "http://", "http://x?y=z", "://"} {
		if c, err := client.New(client.Config{URLs: []string{bad}}); err == nil {
			c.Close()
			t.Errorf("URL %q is accepted", bad)
		}
	}
	if _, err := client.New(client.Config{}); err == nil {
		t.Error("no URL is accepted")
	}
}

func httptestURL(t *testing.T, script ...string) string {
	t.Helper()
	h := httptest.NewServer(&scripted{script: script})
	t.Cleanup(h.Close)
	return h.URL
}

// direct is a transport without a network, so that time can be virtual.
type direct struct{ http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

// waits is a Service whose task reaches the awaited state at a given time.
type waits struct {
	api.Service

	at    time.Time
	calls []string
}

func (w *waits) Task(ctx context.Context, _, id string, o api.GetOptions) (*api.Task, error) {
	w.calls = append(w.calls, fmt.Sprintf("%v %s %d", o.Wait, o.Until, o.Since))
	select {
	case <-time.After(min(o.Wait, max(0, time.Until(w.at)))):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	t := &api.Task{ID: id, Rev: 5, Status: "RUNNING", CreatedAt: api.TimeOf(1)}
	if !time.Now().Before(w.at) {
		t.Rev, t.Status = 6, "SUCCESS"
		t.NotBefore = &api.Time{Time: time.Now().Add(time.Hour)} // not final: a repeating task
	}
	return t, nil
}

// TestClientWaitsInSlices: the client asks for a long wait in slices. "From the current rev" is fixed in the first slice.
func TestClientWaitsInSlices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &waits{at: time.Now().Add(50 * time.Second)}
		c, err := client.New(client.Config{URLs: []string{"http://localhost"}, Transport: direct{server.New(w, server.Config{})}})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		got, err := c.Task(t.Context(), "", "abc", api.GetOptions{Wait: time.Hour, Until: "success"})
		if err != nil || got.Rev != 6 || time.Since(began) != 50*time.Second {
			t.Errorf("%+v, %v after %v", got, err, time.Since(began))
		}
		want := []string{"0s success 0", "20s success 5", "20s success 5", "20s success 5"}
		if !slices.Equal(w.calls, want) {
			t.Errorf("calls %q, want %q", w.calls, want)
		}
		w.at, w.calls, began = time.Now().Add(time.Hour), nil, time.Now()
		got, err = c.Task(t.Context(), "", "abc", api.GetOptions{Wait: 30 * time.Second})
		if err != nil || got.Rev != 5 || time.Since(began) != 30*time.Second {
			t.Errorf("timed out: %+v, %v after %v", got, err, time.Since(began))
		}
		if want := []string{"20s  0", "10s  0"}; !slices.Equal(w.calls, want) {
			t.Errorf("calls %q, want %q", w.calls, want)
		}
	})
}

// TestClientBatchFailsInTheMiddle: answers are kept when a later part of a batch fails.
func TestClientBatchFailsInTheMiddle(t *testing.T) {
	calls := 0
	h := httptest.NewServer(server.New(accepting{calls: &calls, most: 2}, server.Config{}))
	t.Cleanup(h.Close)
	c, err := client.New(client.Config{URLs: []string{h.URL}, BatchBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	results, err := c.SubmitBatch(t.Context(), slices.Repeat([]api.SubmitRequest{{Behavior: "abc"}}, 5))
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if ok := r.Error == nil; ok != (i < 2) || !ok && r.Error.Code != "namespace_not_found" {
			t.Errorf("result %d: %+v", i, r)
		}
	}
	if calls != 3 {
		t.Errorf("%d requests, want none after the one that failed", calls)
	}
	if _, err := c.SubmitBatch(t.Context(), []api.SubmitRequest{{Behavior: "abc"}, {Behavior: "abc"}}); api.CodeOf(err) != "namespace_not_found" {
		t.Errorf("a batch that fails at once: %v", err)
	}
}

// accepting is a Service that takes every batch, except tasks of the behavior nobody.
type accepting struct {
	api.Service

	calls *int
	most  int // so many calls are accepted; 0: all
}

func (a accepting) SubmitBatch(_ context.Context, rs []api.SubmitRequest) ([]api.SubmitResult, error) {
	if *a.calls++; a.most > 0 && *a.calls > a.most {
		return nil, api.NewError("namespace_not_found", "no longer")
	}
	results := make([]api.SubmitResult, len(rs))
	for i, r := range rs {
		if r.Behavior == "nobody" {
			results[i].Error = api.NewError(api.CodeBehaviorNotFound, "nobody")
			continue
		}
		results[i].SubmitReply = &api.SubmitReply{Task: &api.Task{ID: r.ID, CreatedAt: api.TimeOf(1)}, Outcome: "created"}
	}
	return results, nil
}

// TestClientSplitsBatches: a batch that does not fit into one body goes in several bodies, and its answers come back in order.
func TestClientSplitsBatches(t *testing.T) {
	calls := 0
	h := httptest.NewServer(server.New(accepting{calls: &calls}, server.Config{}))
	t.Cleanup(h.Close)
	c, err := client.New(client.Config{URLs: []string{h.URL}, BatchBytes: 4000})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	rs := make([]api.SubmitRequest, 120)
	params := []byte(`"` + strings.Repeat("x", 100) + `"`)
	for i := range rs {
		rs[i] = api.SubmitRequest{Behavior: "apitest.ok", ID: fmt.Sprintf("split-%d", i), Params: params}
	}
	rs[15].Behavior = "nobody"
	rs[118].ID = "!"
	results, err := c.SubmitBatch(t.Context(), rs)
	if err != nil {
		t.Fatal(err)
	}
	if calls < 2 {
		t.Errorf("%d requests, want several", calls)
	}
	for i, r := range results {
		want := ""
		switch i {
		case 15:
			want = "behavior_not_found"
		case 118:
			want = "invalid_field"
		}
		if want != "" {
			if r.Error == nil || r.Error.Code != want {
				t.Errorf("result %d: %+v, want %s", i, r, want)
			}
			continue
		}
		if r.SubmitReply == nil || r.Task.ID != rs[i].ID {
			t.Errorf("result %d: %+v", i, r)
		}
	}
}
