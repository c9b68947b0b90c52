package server

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/server/admission"
)

// heldService is a Service that holds submits until the test releases them.
type heldService struct {
	api.Service
	release chan struct{}
}

func (s heldService) Submit(ctx context.Context, _ api.SubmitRequest) (*api.SubmitReply, error) {
	<-s.release
	return nil, api.NewError(api.CodeBehaviorNotFound, "none")
}

func (s heldService) Finish(context.Context, api.FinishRequest) (*api.FinishReply, error) {
	return nil, api.NewError(api.CodeHalt, "gone")
}

// unread is a body that fails the test if anybody reads it.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body of a refused request was read")
	return 0, http.ErrBodyReadAfterClose
}

// TestOverloadedHandler: too many submits are refused before their bodies are read; reports are not.
func TestOverloadedHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := heldService{release: make(chan struct{})}
		h := New(s, Config{Logger: slog.New(slog.DiscardHandler)})
		post := func(path, body string) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "http://localhost"+path, strings.NewReader(body)))
			return w
		}
		var wg sync.WaitGroup
		for range admission.First {
			wg.Go(func() {
				if w := post("/v1/tasks", `{"behavior":"abc"}`); w.Code != http.StatusNotFound {
					t.Errorf("%d %s", w.Code, w.Body)
				}
			})
		}
		synctest.Wait()
		for path := range map[string]bool{"/v1/tasks": true, "/v1/operations": true, "/taskstore/update": true, "/taskstore/claim": true} {
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodPost, "http://localhost"+path, unread{t})
			r.ContentLength = 1000
			if h.ServeHTTP(w, r); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "1" {
				t.Errorf("%s: %d, %v", path, w.Code, w.Header())
			}
		}
		if w := post("/v1/tasks/abc/finish", `{"token":1,"result":1}`); w.Code != http.StatusConflict {
			t.Errorf("a report: %d %s", w.Code, w.Body)
		}
		if r := (&request{route: &route{adds: true}}); api.CodeOf(h.(*handler).bodyRead(r, nil)) != api.CodeOverloaded || r.weight != 0 {
			t.Error("a request whose body came when there was no more room got under way")
		}
		close(s.release)
		wg.Wait()
		if n := h.(*handler).adding.UnderWay(); n != 0 {
			t.Errorf("%d are under way still", n)
		}
		if w := post("/v1/tasks", `{"behavior":"abc"}`); w.Code != http.StatusNotFound {
			t.Errorf("afterwards: %d %s", w.Code, w.Body)
		}
	})
}

// waitedService is a Service that answers submits at once, and holds waits until the test releases them.
type waitedService struct {
	api.Service
	release chan struct{}
}

func (s waitedService) Submit(context.Context, api.SubmitRequest) (*api.SubmitReply, error) {
	return &api.SubmitReply{Task: &api.Task{ID: "abc", Status: "CREATED"}, Outcome: "created"}, nil
}

func (s waitedService) Task(context.Context, string, string, api.GetOptions) (*api.Task, error) {
	<-s.release
	return &api.Task{ID: "abc", Status: "SUCCESS", Final: true}, nil
}

// TestWaitersAreNotAdding: a submit that has been done and waits for the outcome keeps nobody out.
func TestWaitersAreNotAdding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := waitedService{release: make(chan struct{})}
		h := New(s, Config{Logger: slog.New(slog.DiscardHandler)})
		var wg sync.WaitGroup
		for range 2 * admission.First {
			wg.Go(func() {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "http://localhost/v1/tasks?wait=1m", strings.NewReader(`{"behavior":"abc"}`)))
				if w.Code != http.StatusCreated || !strings.Contains(w.Body.String(), "SUCCESS") {
					t.Errorf("%d %s", w.Code, w.Body)
				}
			})
			synctest.Wait()
		}
		close(s.release)
		wg.Wait()
		if n := h.(*handler).adding.UnderWay(); n != 0 {
			t.Errorf("%d requests are under way still", n)
		}
	})
}
