package runtime

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime/fetch"
	"github.com/taskrt/taskrt/runtime/grants"
	"github.com/taskrt/taskrt/runtime/manifest"
	"github.com/taskrt/taskrt/runtime/upload"
)

// answered splits the result of the guest http.
func answered(t *testing.T, out Outcome) (answer int32, text string) {
	t.Helper()
	if out.Kind != Succeeded || len(out.Result) < 4 {
		t.Fatalf("%+v", out)
	}
	return int32(binary.LittleEndian.Uint32(out.Result)), string(out.Result[4:])
}

// TestHTTPIsGranted runs the guest against a server, under an operator's rules (SPEC B6).
func TestHTTPIsGranted(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body [10]byte
		n, _ := r.Body.Read(body[:])
		w.Header().Set("X-Got", string(body[:n]))
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "%s %s", r.Method, r.URL.Path)
	}))
	defer s.Close()
	g, err := grants.Parse(fmt.Appendf(nil, `{"grants":[{"namespace":"default","behavior":"http*","http":[
		{"hosts":[%q],"schemes":["http"],"methods":["POST"],"private":["127.0.0.0/8"],"max_request_bytes":4}]}]}`,
		strings.TrimPrefix(s.URL, "http://")), "")
	if err != nil {
		t.Fatal(err)
	}
	e := newEngine(t, Config{Grants: g})
	m := load(t, e, guestFile(t, "http"))
	ask := func(namespace, behavior, head string) (int32, string) {
		return answered(t, m.Run(t.Context(), Attempt{Params: []byte(head), Info: infoOf(t, namespace, behavior)}, &fakeHost{}))
	}
	status, text := ask("default", "http", `{"method":"POST","url":"`+s.URL+`/x","headers":{"X-Y":"z"}}`)
	head, body, _ := strings.Cut(text, "}POST")
	if status != 418 || body != " /x" || !strings.HasPrefix(head, `{"status":418,"headers":{`) || !strings.Contains(head, `"X-Got":["ping"]`) {
		t.Errorf("%d %s", status, text)
	}
	for _, tt := range []struct {
		namespace, behavior, head string
		want                      abi.Errno
		naming                    string
	}{
		{"default", "http", `{"method":"GET","url":"` + s.URL + `"}`, abi.EDENIED, "GET"},
		{"default", "http", `{"method":"POST","url":"http://169.254.169.254/latest"}`, abi.EDENIED, "169.254.169.254"},
		{"tenant", "http", `{"method":"POST","url":"` + s.URL + `"}`, abi.EDENIED, "namespace tenant"},
		{"default", "mail", `{"method":"POST","url":"` + s.URL + `"}`, abi.EDENIED, "grants mail"},
		{"default", "http", `{"method":"POST","url":"` + s.URL + `","header":{}}`, abi.EINVAL, "header"},
		{"default", "http", `{"url":"x:"}{}`, abi.EINVAL, "more behind"},
		{"default", "http", ``, abi.EINVAL, "head"},
		{"default", "http", `{"method":"POST","url":"` + s.URL + `","headers":{"Host":"x"}}`, abi.EINVAL, "Host"},
	} {
		if status, text := ask(tt.namespace, tt.behavior, tt.head); status != int32(tt.want) || !strings.Contains(text, tt.naming) {
			t.Errorf("%s/%s %s: %d %s, want %d naming %q", tt.namespace, tt.behavior, tt.head, status, text, tt.want, tt.naming)
		}
	}
	asks := &manifest.Manifest{Requires: []string{abi.CapabilityHTTP}, Behaviors: []manifest.Behavior{{Name: "http"}}}
	if err := e.CheckGranted("default", asks); err != nil {
		t.Error(err)
	}
	if bad, ok := errors.AsType[*upload.Error](e.CheckGranted("tenant", asks)); !ok || bad.Code != upload.CapabilityNotGranted {
		t.Errorf("granted in another namespace: %v", bad)
	}
}

// TestResponsesCountTowardsTheBudget: responses are charged to the memory that all guests share, as long as their
// attempt runs.
func TestResponsesCountTowardsTheBudget(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 1000)) }))
	defer s.Close()
	granting := func(room int) *grants.Grants {
		g, err := grants.Parse(fmt.Appendf(nil, `{"grants":[{"namespace":"*","behavior":"*","http":[
			{"hosts":[%q],"schemes":["http"],"methods":["GET"],"private":["127.0.0.0/8"],"max_request_bytes":4,"max_response_bytes":%d}]}]}`,
			strings.TrimPrefix(s.URL, "http://"), room), "")
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	const pages = 4 << 16 // of the guest
	for _, x := range []struct {
		budget int64
		room   int
		want   int32
	}{{pages + 5000, 5000, 200}, {pages + 4999, 5000, int32(abi.EAGAIN)}, {pages + 5000, 999, int32(abi.E2BIG)}} {
		e := newEngine(t, Config{Grants: granting(x.room), MemoryBudget: x.budget})
		m := load(t, e, guestFile(t, "http"))
		held := int64(0)
		host := &fakeHost{signals: func() abi.Signals { held = e.memory.Used(); return 0 }}
		for range 2 { // what the first attempt held is free for the second
			status, text := answered(t, m.Run(t.Context(), Attempt{Params: []byte(`{"url":"` + s.URL + `"}`), Info: infoOf(t, "default", "http")}, host))
			if status != x.want {
				t.Errorf("%+v: %d %.100s", x, status, text)
			}
		}
		if e.memory.Used() > pages || held > pages {
			t.Errorf("%+v: %d bytes are still taken, %d were when it began", x, e.memory.Used(), held)
		}
	}
}

// TestHTTPNeedsTheLease: a worker that may have lost the lease has no effect outside any more (SPEC L5).
func TestHTTPNeedsTheLease(t *testing.T) {
	m := load(t, newEngine(t, Config{}), guestFile(t, "http"))
	asked := 0
	a := Attempt{Params: []byte(`{"url":"http://x.example"}`), HTTP: func(context.Context, *fetch.Request) (*fetch.Response, error) {
		asked++
		return &fetch.Response{Status: 204}, nil
	}}
	if status, text := answered(t, m.Run(t.Context(), a, &fakeHost{})); status != 204 || asked != 1 {
		t.Errorf("%d %s, asked %d times", status, text, asked)
	}
	lost := &fakeHost{signals: func() abi.Signals { return abi.SignalLeaseLost }}
	if status, text := answered(t, m.Run(t.Context(), a, lost)); status != int32(abi.ECONFLICT) || !strings.Contains(text, "lease") || asked != 1 {
		t.Errorf("without the lease: %d %s, asked %d times", status, text, asked)
	}
}

// TestHTTPEndsWithTheAttempt: a request under way ends when the attempt does, by its timeout or a kill.
func TestHTTPEndsWithTheAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := load(t, newEngine(t, Config{}), guestFile(t, "http"))
		a := Attempt{Params: []byte(`{"url":"http://x.example"}`), RunTimeout: time.Minute, HeartbeatTimeout: time.Second}
		a.HTTP = func(ctx context.Context, _ *fetch.Request) (*fetch.Response, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		for range 2 {
			begun := time.Now()
			out := m.Run(t.Context(), a, &fakeHost{})
			if took := time.Since(begun); out.Code != CodeTimeout || took != time.Minute { // the host's time is no missing heartbeat
				t.Errorf("after %v: %+v", took, out)
			}
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(ErrKilledLease) })
		if out := m.Run(ctx, a, &fakeHost{}); out.Kind != Killed {
			t.Errorf("%+v", out)
		}
	})
}

func TestHTTPMisused(t *testing.T) {
	m := load(t, newEngine(t, Config{}), guestFile(t, "http"))
	asked := 0
	run := func(n int32) Outcome {
		return m.Run(t.Context(), Attempt{
			Behavior: n, Params: []byte(`{"url":"http://x.example"}`), Info: infoOf(t, "default", "http"),
			HTTP: func(context.Context, *fetch.Request) (*fetch.Response, error) {
				asked++
				return &fetch.Response{Status: 200}, nil
			},
		}, &fakeHost{})
	}
	for n, what := range map[int32]string{1: "request: pointer 0x3ffff", 2: "request: pointer 0x40001", 3: "request: pointer 0x10", 8: "read: pointer 0x3fffc"} { // order-free
		if out := run(n); out.Code != CodeTrap || !strings.Contains(out.Message, what) {
			t.Errorf("%d: %+v, want %q", n, out, what)
		}
	}
	for n, want := range map[int32]abi.Errno{4: abi.E2BIG, 5: abi.EDENIED, 6: abi.ENOSYS, 7: abi.ENOENT, 9: abi.E2BIG} { // order-free
		if got, _ := answered(t, run(n)); got != int32(want) {
			t.Errorf("%d: %d, want %d", n, got, want)
		}
	}
	if asked != MaxHTTPRequests {
		t.Errorf("%d requests were made", asked)
	}
}

// TestHTTPRulesAreChecked: mistakes name their field, and a field that is left out has the narrowest meaning.
func TestHTTPRulesAreChecked(t *testing.T) {
	for rule, naming := range map[string]string{
		`{}`: "http[0].hosts", `{"hosts":["UPPER"]}`: "http[0].hosts[0]", `{"hosts":["a/b"]}`: "hosts[0]", `{"hosts":["*.*"]}`: "hosts[0]",
		`{"hosts":["a"],"schemes":["ftp"]}`: "schemes[0]", `{"hosts":["a"],"methods":["get"]}`: "methods[0]", `{"hosts":["a"],"methods":["CONNECT"]}`: "methods[0]",
		`{"hosts":["a"],"private":["10.0.0.1"]}`: "private[0]", `{"hosts":["a"],"timeout":"11m"}`: "timeout", `{"hosts":["a"],"timeout":"-1s"}`: "timeout",
		`{"hosts":["a"],"max_response_bytes":16777217}`: "max_response_bytes", `{"hosts":["a"],"max_request_bytes":-1}`: "max_request_bytes", `{"hosts":["a"],"redirects":true}`: "redirects",
	} { // order-free: independent rules
		_, err := grants.Parse([]byte(`{"grants":[{"namespace":"d","behavior":"b","http":[`+rule+`]}]}`), "")
		if err == nil || !strings.Contains(err.Error(), naming) {
			t.Errorf("%s: %v, want %q", rule, err, naming)
		}
	}
	g, err := grants.Parse([]byte(`{"grants":[{"namespace":"d","behavior":"b","http":[{"hosts":["*.a.example:8443","[::1]"]}]}]}`), "")
	if err != nil {
		t.Fatal(err)
	}
	rules := g.HTTP("d", "b")
	text, _ := json.Marshal(rules)
	if len(rules) != 1 || rules[0].Timeout != 30*time.Second || rules[0].MaxRequestBytes != 1<<20 || strings.Join(rules[0].Methods, " ") != "GET HEAD" || strings.Join(rules[0].Schemes, " ") != "https" {
		t.Errorf("defaults: %s", text)
	}
	if len(g.HTTP("d", "c"))+len(g.HTTP("x", "b")) > 0 {
		t.Error("granted to others")
	}
}
