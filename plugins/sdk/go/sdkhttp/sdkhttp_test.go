package sdkhttp_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/plugins/plugintest"
	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/sdkhttp"
	"github.com/taskrt/taskrt/plugins/sdk/go/sdktest"
)

// body is what the behavior does in the test that runs now.
var body func(*sdk.Context) error

func init() {
	sdk.Register(sdk.Behavior{Name: "any", Run: func(c *sdk.Context) error { return body(c) }})
}

func run(t *testing.T, h *sdktest.Host, f func(*sdk.Context) error) {
	t.Helper()
	body = f
	if r := sdktest.Run(t, "any", h); r.Outcome != abi.OutcomeOK {
		t.Error(r)
	}
}

// echo answers with the request.
var echo = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	w.Header().Add("X-Theirs", "1")
	w.Header().Add("X-Theirs", "2")
	w.WriteHeader(http.StatusAccepted)
	fmt.Fprintf(w, "%s %s %q %q %s", r.Method, r.URL, r.Header.Get("X-Mine"), r.UserAgent(), text)
})

func TestManifestRequires(t *testing.T) {
	if got := string(sdktest.Manifest()); !strings.HasPrefix(got, `{"schema":1,"requires":["http"],"behaviors":[{"name":"any"}`) {
		t.Error(got)
	}
}

func TestDo(t *testing.T) {
	large := strings.Repeat("x", 1<<20)
	for want, q := range map[string]sdkhttp.Request{
		`GET https://example.com/a?b=c "" "taskrt" `: {URL: "https://example.com/a?b=c"},
		`PUT http://[::1]:8080/ "\"ü\"" "me" ` + large: {
			Method: "PUT", URL: "http://[::1]:8080/", Headers: map[string]string{"x-mine": `"ü"`, "User-Agent": "me"}, Body: []byte(large),
		},
	} { // order-free: independent runs
		run(t, &sdktest.Host{HTTP: echo}, func(*sdk.Context) error {
			r, err := sdkhttp.Do(q)
			if err != nil || r.Status != 202 || string(r.Body) != want {
				t.Errorf("%.200v, %v, want %.200s", r, err, want)
				return nil
			}
			if r.Header("X-Theirs") != "1" || r.Header("X-None") != "" || !reflect.DeepEqual(r.Headers["X-Theirs"], []string{"1", "2"}) {
				t.Errorf("%v", r.Headers)
			}
			return nil
		})
	}
}

// TestStatuses: redirects and failures of the other side are responses.
func TestStatuses(t *testing.T) {
	for _, status := range []int{200, 204, 302, 404, 503} {
		h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
		})
		run(t, &sdktest.Host{HTTP: h}, func(*sdk.Context) error {
			r, err := sdkhttp.Do(sdkhttp.Request{URL: "https://example.com/"})
			if err != nil || r.Status != status || len(r.Body) != 0 || r.Header("Location") != "/elsewhere" {
				t.Errorf("%d: %+v, %v", status, r, err)
			}
			return nil
		})
	}
}

func TestErrors(t *testing.T) {
	refuses := func(err error) func(*http.Request) error { return func(*http.Request) error { return err } }
	get := sdkhttp.Request{URL: "https://example.com/"}
	for name, c := range map[string]struct {
		host   sdktest.Host
		q      sdkhttp.Request
		want   error
		reason string
	}{
		"not granted":  {sdktest.Host{}, get, sdk.ErrDenied, "not allowed"},
		"no rule":      {sdktest.Host{HTTP: echo, OnRequest: refuses(fmt.Errorf("%w: %s", sdk.ErrDenied, "x.com"))}, get, sdk.ErrDenied, "x.com"},
		"failed":       {sdktest.Host{HTTP: echo, OnRequest: refuses(sdk.ErrUnavailable)}, get, sdk.ErrUnavailable, sdk.ErrUnavailable.Error()},
		"lease lost":   {sdktest.Host{HTTP: echo, OnRequest: refuses(sdk.ErrLeaseLost)}, get, sdk.ErrLeaseLost, "lease"},
		"signal":       {sdktest.Host{HTTP: echo, OnBeat: func(int) sdk.Signals { return sdk.SignalLeaseLost }}, get, sdk.ErrLeaseLost, "the lease is lost"},
		"large answer": {sdktest.Host{HTTP: echo, OnRequest: refuses(sdk.ErrTooLarge)}, get, sdk.ErrTooLarge, "limit"},
		"large head":   {sdktest.Host{HTTP: echo}, sdkhttp.Request{URL: "https://x.com/" + strings.Repeat("x", 32<<10)}, sdk.ErrTooLarge, "32768"},
		"large body":   {sdktest.Host{HTTP: echo}, sdkhttp.Request{URL: "https://x.com/", Body: make([]byte, 16<<20+1)}, sdk.ErrTooLarge, "16777217"},
		"no url":       {sdktest.Host{HTTP: echo}, sdkhttp.Request{}, sdk.ErrInvalid, "https://"},
		"credentials":  {sdktest.Host{HTTP: echo}, sdkhttp.Request{URL: "https://me:secret@x.com/"}, sdk.ErrInvalid, "credentials"},
		"method":       {sdktest.Host{HTTP: echo}, sdkhttp.Request{Method: "G T", URL: "https://x.com/"}, sdk.ErrInvalid, "G T"},
		"no text":      {sdktest.Host{HTTP: echo}, sdkhttp.Request{URL: "https://x.com/\xff"}, sdk.ErrInvalid, "UTF-8"},
		"no header":    {sdktest.Host{HTTP: echo}, sdkhttp.Request{URL: "https://x.com/", Headers: map[string]string{"A": "\xff"}}, sdk.ErrInvalid, "UTF-8"},
		"no status": {sdktest.Host{HTTP: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusSwitchingProtocols) })},
			get, sdk.ErrUnavailable, "status 101"},
	} { // order-free: independent runs
		run(t, &c.host, func(ctx *sdk.Context) error {
			ctx.Heartbeat(0, 0)
			r, err := sdkhttp.Do(c.q)
			if err == nil {
				t.Errorf("%s: %+v", name, r)
				return nil
			}
			e, ok := errors.AsType[*sdkhttp.Error](err)
			if !errors.Is(err, c.want) || !ok || !strings.Contains(e.Reason, c.reason) || err.Error() != "http: "+e.Reason {
				t.Errorf("%s: %v, want %v with %q", name, err, c.want, c.reason)
			}
			return nil
		})
	}
	// As in init: there is nobody who says why.
	if _, err := sdkhttp.Do(get); !errors.Is(err, sdk.ErrDenied) || err.Error() != "http: "+sdk.ErrDenied.Error() {
		t.Errorf("outside of an attempt: %v", err)
	}
}

func TestRequestsAreCounted(t *testing.T) {
	h := &sdktest.Host{HTTP: echo}
	for range 2 { // anew for every attempt
		run(t, h, func(*sdk.Context) error {
			for i := range 1001 {
				_, err := sdkhttp.Do(sdkhttp.Request{URL: "https://example.com/"})
				if i < 1000 != (err == nil) || err != nil && !errors.Is(err, sdk.ErrTooLarge) {
					t.Fatalf("request %d: %v", i, err)
				}
			}
			return nil
		})
	}
}

// TestGoroutines: each gets the response to its own request.
func TestGoroutines(t *testing.T) {
	var inside atomic.Int32
	one := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := inside.Add(1); n != 1 {
			t.Errorf("%d requests at the same time", n)
		}
		runtime.Gosched()
		echo(w, r)
		inside.Add(-1)
	})
	run(t, &sdktest.Host{HTTP: one}, func(*sdk.Context) error {
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				mine := fmt.Sprint("<", i, ">")
				r, err := sdkhttp.Do(sdkhttp.Request{Method: "POST", URL: "https://example.com/", Body: []byte(mine)})
				if err != nil || !strings.HasSuffix(string(r.Body), mine) {
					t.Errorf("%v, %v, want %s", r, err, mine)
				}
			})
		}
		all.Wait()
		return nil
	})
}

// TestGuest is the same in a sandbox.
func TestGuest(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a guest with the Go toolchain")
	}
	m := plugintest.Load(t, plugintest.BuildGo(t, "testdata/guest"))
	if !strings.Contains(string(m.Manifest()), `"requires":["http"]`) {
		t.Errorf("%s", m.Manifest())
	}
	large := bytes.Repeat([]byte("x"), 100_000)
	m.Run(t, "post", &plugintest.Host{HTTP: echo, Params: large}).
		WantResult(t, `202 1 POST https://api.example.com/ "ü" "" `+string(large))
	r := m.Run(t, "post", &plugintest.Host{Params: large})
	if r.WantError(t, "HANDLER_ERROR", true); r.Message != "http: not allowed" {
		t.Error(r)
	}
	r = m.Run(t, "post", &plugintest.Host{HTTP: echo, Signals: plugintest.LeaseLost})
	if r.WantError(t, "HANDLER_ERROR", true); !strings.HasPrefix(r.Message, "http: the lease is lost") {
		t.Error(r)
	}
}
