package apitest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/apitest"
	"github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/api/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestInProcess(t *testing.T) {
	t.Parallel()
	apitest.Run(t, func(t *testing.T) api.Service {
		f := apitest.NewFake()
		t.Cleanup(f.Close)
		return f
	})
}

func TestOverHTTP(t *testing.T) {
	t.Parallel()
	apitest.Run(t, func(t *testing.T) api.Service {
		f := apitest.NewFake()
		t.Cleanup(f.Close)
		return apitest.OverHTTP(t, f)
	})
}

func TestOverHTTPDeadNodeFirst(t *testing.T) {
	t.Parallel()
	apitest.Run(t, func(t *testing.T) api.Service {
		f := apitest.NewFake()
		t.Cleanup(f.Close)
		dead := httptest.NewServer(nil)
		dead.Close()
		return apitest.OverHTTP(t, f, dead.URL)
	})
}

func TestPipelined(t *testing.T) {
	t.Parallel()
	apitest.Run(t, func(t *testing.T) api.Service {
		f := apitest.NewFake()
		t.Cleanup(f.Close)
		return pipelined(t, f)
	})
}

// pipelined serves f and returns a pipelined client of it.
func pipelined(t *testing.T, f *apitest.Fake) *client.Client {
	t.Helper()
	server := httptest.NewServer(server.New(f, server.Config{Logger: slog.New(slog.DiscardHandler)}))
	t.Cleanup(server.Close)
	client, err := client.New(client.Config{URLs: []string{server.URL}, Pipelined: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// TestPipelinedCallers: of many callers some leave. Every caller that is answered has its own task.
func TestPipelinedCallers(t *testing.T) {
	f := apitest.NewFake()
	t.Cleanup(f.Close)
	client := pipelined(t, f)
	if _, err := client.PutBehavior(t.Context(), api.PutBehaviorRequest{Name: "later", Policy: json.RawMessage(`{"kind":"external"}`)}); err != nil {
		t.Fatal(err)
	}
	const callers, each = 100, 20
	var wg sync.WaitGroup
	var answered atomic.Int64
	for c := range callers {
		wg.Go(func() {
			for i := range each {
				ctx, cancel := context.WithCancel(t.Context())
				if (c+i)%10 == 0 {
					go cancel()
				}
				r := api.SubmitRequest{Behavior: "later", ID: fmt.Sprintf("task-%d-%d", c, i), Params: fmt.Appendf(nil, "[%d,%d]", c, i)}
				if i%3 == 0 {
					r.Behavior = "nobody"
				}
				reply, err := client.Submit(ctx, r)
				cancel()
				switch {
				case err == nil && (i%3 == 0 || reply.Task.ID != r.ID || string(reply.Task.Params) != string(r.Params)):
					t.Errorf("%s was answered %+v", r.ID, reply.Task)
				case err == nil:
					answered.Add(1)
				case !errors.Is(err, context.Canceled) && api.CodeOf(err) != "behavior_not_found":
					t.Errorf("%s: %v", r.ID, err)
				}
			}
		})
	}
	wg.Wait()
	if n := answered.Load(); n < callers*each/2 {
		t.Errorf("only %d of %d were answered", n, callers*each)
	}
}
