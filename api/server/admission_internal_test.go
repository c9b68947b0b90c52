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
	"time"

	"github.com/taskrt/taskrt/api"
)

// TestAdmission: under ten times the load that a node can answer, it takes as much as it can, and answers in time what it
// takes.
func TestAdmission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rate, seconds = 8000, 5 // the node answers rate requests per second
		var a admission
		var queue []time.Time
		taken, refused, worst := 0, 0, time.Duration(0)
		for tick := range seconds * 1000 {
			for range 10 * rate / 1000 {
				if a.enter(1) {
					queue = append(queue, time.Now())
					taken++
				} else {
					refused++
				}
			}
			time.Sleep(time.Millisecond) // in the bubble's time
			for range min(len(queue), rate/1000) {
				if a.leave(1, true); tick > 1000 {
					worst = max(worst, time.Since(queue[0]))
				}
				queue = queue[1:]
			}
		}
		if most := admissionWait * 12 / 10; worst > most {
			t.Errorf("one waited for %v, more than %v", worst, most)
		}
		if taken < rate*seconds*99/100 || refused < 8*rate*seconds {
			t.Errorf("%d taken, %d refused", taken, refused)
		}
	})
}

// TestAdmissionKnows: the rate is measured only while the node has enough to do, and counts only served requests.
func TestAdmissionKnows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a admission
		fill := func() (n int) {
			for a.enter(1) {
				n++
			}
			return n
		}
		// Requests one after the other do not show how many the node could answer at the same time.
		for range 100 {
			if !a.enter(1) {
				t.Fatal("refused, with nothing under way")
			}
			time.Sleep(10 * time.Millisecond)
			a.leave(1, true)
		}
		if n := fill(); n != admissionFirst {
			t.Fatalf("%d at first", n)
		}
		// At 100 per second the least is taken, which is always taken. Requests that are refused later do not count.
		for range 1000 {
			time.Sleep(10 * time.Millisecond)
			for range 5 {
				a.leave(1, false)
				a.enter(1)
			}
			a.leave(1, true)
			a.enter(1)
			fill()
		}
		if a.rate < 90 || a.rate > 110 || a.underWay != admissionLeast {
			t.Fatalf("%.0f per second, %d under way", a.rate, a.underWay)
		}
		// The more requests the node then answers, in groups, the more it takes, also after a minute without load.
		for range 100 {
			time.Sleep(20 * time.Millisecond)
			for range 200 {
				a.leave(1, true)
			}
			fill()
		}
		time.Sleep(time.Minute)
		a.enter(1)
		if a.limit() < 900 || a.limit() > 1100 {
			t.Fatalf("%.0f per second, limit %d", a.rate, a.limit())
		}
		// If nothing is answered any more, the node takes only the least.
		for range 200 {
			time.Sleep(10 * time.Millisecond)
			a.enter(1)
		}
		if a.limit() != admissionLeast || a.rate < 1 {
			t.Fatalf("%.0f per second, limit %d", a.rate, a.limit())
		}
	})
}

// TestAdmissionWeighs: a large request weighs more. Yet two requests of any size are always taken.
func TestAdmissionWeighs(t *testing.T) {
	t.Parallel()
	if small, large := weight(make([]byte, 300)), weight(make([]byte, 330<<10)); small != 1 || large != 331 {
		t.Errorf("%d, %d", small, large)
	}
	var a admission
	a.rate = 1
	for i := range 3 {
		if got, want := a.enter(admissionLeast), i < admissionFew; got != want {
			t.Errorf("large one %d: %t", i, got)
		}
	}
	a.leave(admissionLeast, true)
	a.leave(admissionLeast, true)
	for range admissionLeast / 8 {
		if !a.enter(8) {
			t.Fatalf("refused, with %d under way", a.underWay)
		}
	}
	if a.enter(1) || a.requests != admissionLeast/8 {
		t.Errorf("%d requests are under way, of weight %d", a.requests, a.underWay)
	}
}

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
		for range admissionFirst {
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
		if n := h.(*handler).adding.underWay; n != 0 {
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
		for range 2 * admissionFirst {
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
		if a := &h.(*handler).adding; a.underWay != 0 || a.requests != 0 {
			t.Errorf("%d requests of weight %d are under way still", a.requests, a.underWay)
		}
	})
}
