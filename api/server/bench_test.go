package server_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/server"
)

// taken is a Service that checks every task, as each Service does, takes it, and gives a short answer.
type taken struct{ api.Service }

func (taken) SubmitBatch(_ context.Context, rs []api.SubmitRequest) ([]api.SubmitResult, error) {
	out := make([]api.SubmitResult, len(rs))
	for i := range out {
		if err := rs[i].Check(); err != nil {
			return nil, err
		}
		out[i].SubmitReply = &api.SubmitReply{Task: &api.Task{ID: "some-task", Behavior: rs[i].Behavior, Params: rs[i].Params}}
	}
	return out, nil
}

// BenchmarkSubmitBatch measures what a node does for HTTP when it takes a thousand tasks of 256 bytes, without the tasks
// themselves.
func BenchmarkSubmitBatch(b *testing.B) {
	const tasks = 1000
	one := fmt.Sprintf(`{"behavior":"bench.echo","params":"%s"}`, strings.Repeat("abcdefgh", 32))
	body := []byte(`{"tasks":[` + one + strings.Repeat(","+one, tasks-1) + `]}`)
	h := server.New(taken{}, server.Config{})
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequest(http.MethodPost, "http://localhost/v1/tasks", bytes.NewReader(body))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			b.Fatal(w.Code, w.Body)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/tasks, "µs/task")
}

func (taken) Submit(_ context.Context, r api.SubmitRequest) (*api.SubmitReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	return &api.SubmitReply{Task: &api.Task{ID: "some-task", Behavior: r.Behavior, Params: r.Params}, Outcome: "created"}, nil
}

// BenchmarkSubmit measures what a node does for HTTP when it takes one task of 256 bytes, without net/http and the task itself.
func BenchmarkSubmit(b *testing.B) {
	body := fmt.Sprintf(`{"behavior":"bench.echo","params":"%s"}`, strings.Repeat("abcdefgh", 32))
	h := server.New(taken{}, server.Config{})
	r := httptest.NewRequest(http.MethodPost, "http://localhost/v1/tasks", nil)
	r.ContentLength = int64(len(body))
	r.Header.Set("Content-Type", "application/json")
	w := &discarded{header: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		clear(w.header)
		r.Body = io.NopCloser(strings.NewReader(body))
		h.ServeHTTP(w, r)
	}
}

// discarded is an answer that nobody reads.
type discarded struct{ header http.Header }

func (d *discarded) Header() http.Header         { return d.header }
func (d *discarded) WriteHeader(int)             {}
func (d *discarded) Write(b []byte) (int, error) { return len(b), nil }
