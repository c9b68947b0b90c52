package server_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/apitest"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/insight"
	"github.com/taskrt/taskrt/api/jobs"
	"github.com/taskrt/taskrt/api/membership"
	"github.com/taskrt/taskrt/api/server"
	"github.com/taskrt/taskrt/api/snapshot"
)

// What these are asked panics.
type (
	brokenService   struct{ api.Service }
	brokenAccess    struct{ auth.Access }
	signIn          = auth.SignIn
	brokenSignIn    struct{ signIn }
	audit           = auth.Audit
	brokenAudit     struct{ audit }
	brokenMembers   struct{ membership.Members }
	brokenJobs      struct{ jobs.Jobs }
	brokenInsight   struct{ insight.Insight }
	brokenSnapshots struct{ snapshot.Snapshots }
)

// TestEveryRouteGivesBack: whatever becomes of a request (it is done, refused before, while or after its body is read, its body breaks off, its client
// has gone, the Service fails by a bug), the handler holds nothing of its bounded resources afterwards: no bytes, no place. So nothing adds up, however
// many such requests come.
func TestEveryRouteGivesBack(t *testing.T) {
	t.Parallel()
	const room = 1 << 18
	f := apitest.NewFake()
	t.Cleanup(f.Close)
	if _, err := f.Push(t.Context(), api.PushRequest{Name: "apitest.ok", Wasm: bytes.NewReader(apitest.ModuleOK(""))}); err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	broken := server.Config{
		Access: brokenAccess{}, SignIn: brokenSignIn{}, Audit: brokenAudit{}, Members: brokenMembers{}, Jobs: brokenJobs{}, Insight: brokenInsight{}, Snapshots: brokenSnapshots{},
	}
	blanks := strings.Repeat(" ", room/8)
	bodies := map[string]func() io.Reader{
		"none":      func() io.Reader { return nil },
		"an object": func() io.Reader { return strings.NewReader(blanks + "{}") },
		"a task":    func() io.Reader { return strings.NewReader(blanks + `{"behavior":"apitest.ok"}`) },
		"tasks": func() io.Reader {
			return strings.NewReader(blanks + `{"tasks":[{"behavior":"apitest.ok"},{"behavior":"no"},{}]}`)
		},
		"no JSON":                     func() io.Reader { return strings.NewReader(blanks + "nonsense") },
		"more than is announced":      func() io.Reader { return io.MultiReader(strings.NewReader(blanks + "{}")) },
		"more than there is room for": func() io.Reader { return io.MultiReader(strings.NewReader(strings.Repeat(" ", 2*room))) },
		"one that breaks off": func() io.Reader {
			return io.MultiReader(strings.NewReader(blanks), iotest.ErrReader(errors.New("gone")))
		},
	}
	for name, c := range map[string]struct {
		service api.Service
		config  server.Config
		ctx     context.Context
	}{
		"it works": {f, server.Config{}, gone}, "it fails": {brokenService{}, broken, t.Context()},
	} {
		c.config.Logger, c.config.BodyBytes, c.config.AddingBytes, c.config.Requests = slog.New(slog.DiscardHandler), room, room, 8
		h := server.New(c.service, c.config)
		ask := func(ctx context.Context, method, path, media string, body io.Reader) {
			r := httptest.NewRequestWithContext(ctx, method, "http://localhost"+path, body)
			if media != "" {
				r.Header.Set("Content-Type", media)
			}
			func() {
				defer func() {
					if p := recover(); p != nil && p != http.ErrAbortHandler { //nolint:errorlint // as net/http compares it
						t.Errorf("%s: %s %s: %v", name, method, path, p)
					}
				}()
				h.ServeHTTP(httptest.NewRecorder(), r)
			}()
		}
		names := regexp.MustCompile(`\{[a-z_.]+\}`)
		holds := func(what string, args ...any) {
			if held := server.Held(h); held != "" {
				t.Fatalf("%s: "+what+": afterwards it holds %s", append(append([]any{name}, args...), held)...)
			}
		}
		server.EachRoute(func(method, path string) {
			path = names.ReplaceAllString(path, "abc")
			for what, body := range bodies {
				for _, query := range []string{"", "?nonsense=1"} {
					for _, media := range []string{"application/json", "application/wasm", "multipart/form-data; boundary=x", "application/x-ndjson", "text/plain"} {
						ask(c.ctx, method, path+query, media, body())
						holds("%s %s%s with the body %q as %s", method, path, query, what, media)
					}
				}
			}
		})
		var relent func()
		ask(t.Context(), http.MethodPost, "/v1/tasks", "", io.MultiReader(strings.NewReader(blanks), meanwhile(func() { relent = server.Crowd(h) }), strings.NewReader("{}")))
		relent()
		holds("a task whose body came when there was too much work")
	}
}

// meanwhile is an empty body that comes when something has happened.
type meanwhile func()

func (f meanwhile) Read([]byte) (int, error) {
	f()
	return 0, io.EOF
}
