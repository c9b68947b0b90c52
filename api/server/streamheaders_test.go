package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/stream"
	"github.com/taskrt/taskrt/api/tracing"
)

// noting is a Service that notes how it is asked to submit.
type noting struct {
	api.Service
	once         api.Once
	trace, state string
}

func (s *noting) Submit(ctx context.Context, _ api.SubmitRequest) (*api.SubmitReply, error) {
	s.once, _ = api.OnceOf(ctx)
	s.trace, s.state = tracing.Texts(ctx)
	return &api.SubmitReply{Task: &api.Task{ID: "abc", Params: json.RawMessage(`1`)}, Outcome: "created"}, nil
}

// TestStreamKeepsHeaders: what a request says beside its body reaches the handler as the headers of HTTP (SPEC H5, U2).
func TestStreamKeepsHeaders(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := &noting{}
		stop := b.serve("n1", s)
		defer stop()
		c := b.streamTo("n1")
		defer c.Close()
		parent := "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		q := stream.Request{Method: "POST", Path: "/v1/tasks", Key: "k", Prefer: "return=minimal", Trace: parent, State: "vendor=1", Body: json.RawMessage(`{"behavior":"bee"}`)}
		a := come(t, send(t, c, q)[0])
		if a.Status != http.StatusCreated || strings.Contains(string(a.Body), "params") {
			t.Errorf("answered %d %s", a.Status, a.Body)
		}
		if s.once.Key == 0 || s.trace != parent || s.state != "vendor=1" {
			t.Errorf("key %d, traceparent %q, tracestate %q", s.once.Key, s.trace, s.state)
		}
	})
}
