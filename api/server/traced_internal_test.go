package server

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/tracing"
)

// untraced are routes that add work and make no task due.
var untraced = map[string]string{"storeUpdate": "records are no tasks", "storeClaim": "records are no tasks"}

// TestTracedRoutes: a route that makes tasks due keeps the trace context, whoever adds it to the table; the document says so (SPEC U2).
func TestTracedRoutes(t *testing.T) {
	d := documentOf(routes())
	for _, r := range routes() {
		due := r.adds && untraced[r.id] == ""
		for _, m := range r.body {
			for _, v := range m.types {
				due = due || holdsWork(reflect.TypeOf(v), map[reflect.Type]bool{})
			}
		}
		if due != r.traced {
			t.Errorf("%s makes tasks due: %v, keeps their trace context: %v", r.id, due, r.traced)
		}
		o := d.Paths[wildcard.ReplaceAllString(r.path, "{$1}")][strings.ToLower(r.method)]
		if _, said := d.Parameter(o, "header", "traceparent"); said != r.traced {
			t.Errorf("%s: traceparent in the document: %v", r.id, said)
		}
	}
}

// holdsWork reports whether a body of this type asks for tasks, or for another run of one.
func holdsWork(typ reflect.Type, seen map[reflect.Type]bool) bool {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	switch typ {
	case reflect.TypeFor[api.SubmitRequest](), reflect.TypeFor[api.ResubmitRequest](), reflect.TypeFor[api.StartOperationRequest]():
		return true
	}
	if typ.Kind() != reflect.Struct || seen[typ] {
		return false
	}
	seen[typ] = true
	for i := range typ.NumField() {
		if holdsWork(typ.Field(i).Type, seen) {
			return true
		}
	}
	return false
}

// parents notes the traceparent of each call.
type parents struct {
	api.Service
	seen []string
}

func (p *parents) Submit(ctx context.Context, _ api.SubmitRequest) (*api.SubmitReply, error) {
	p.seen = append(p.seen, tracing.Parent(ctx))
	return &api.SubmitReply{Task: &api.Task{}}, nil
}

func (p *parents) Cancel(ctx context.Context, _, _ string) (*api.CancelReply, error) {
	p.seen = append(p.seen, tracing.Parent(ctx))
	return &api.CancelReply{Task: &api.Task{}}, nil
}

// TestTraceOfRequest: the handler goes by the table.
func TestTraceOfRequest(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	var p parents
	h := New(&p, Config{Logger: slog.New(slog.DiscardHandler)})
	for _, c := range []struct{ path, body, want string }{
		{"/v1/tasks", `{"behavior":"b","id":"one"}`, parent},
		{"/v1/tasks/one/cancel", "", ""},
	} {
		p.seen = nil
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1"+c.path, strings.NewReader(c.body))
		r.Header.Set("traceparent", parent)
		if c.body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		h.ServeHTTP(httptest.NewRecorder(), r)
		if len(p.seen) != 1 || p.seen[0] != c.want {
			t.Errorf("%s: %q", c.path, p.seen)
		}
	}
}
