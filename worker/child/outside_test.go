package child

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/runtime/fetch"
	"github.com/taskrt/taskrt/runtime/grants"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker"
	"github.com/taskrt/taskrt/worker/stream"
)

// server is where guests of these tests make their requests. The child finds it in the environment.
const server = "TASKRT_TEST_SERVER"

// askOutside uses every capability, and says what came of it.
func askOutside(ctx context.Context, o runtime.Outside) map[string]string {
	said := map[string]string{}
	note := func(what, value string, err error) {
		if err != nil {
			value = fmt.Sprintf("error %d: %v", numberOf(err), err)
		}
		said[what] = value
	}
	value, err := o.Secret(ctx, "key")
	note("secret", string(value), err)
	_, err = o.Secret(ctx, "other")
	note("other secret", "read", err)
	note("child", "allowed", o.MaySubmit(ctx, "outside"))
	note("other child", "allowed", o.MaySubmit(ctx, "other"))
	request, response, err := o.HTTPLimits(ctx)
	note("limits", fmt.Sprint(request, response), err)
	url := os.Getenv(server)
	res, err := o.HTTP(ctx, &fetch.Request{Method: "POST", URL: url, Header: map[string]string{"X-Test": "yes"}, Body: []byte("body")})
	if err == nil {
		note("http", fmt.Sprintf("%d %s %s", res.Status, res.Header["X-Answer"], res.Body), nil)
	} else {
		note("http", "", err)
	}
	_, err = o.HTTP(ctx, &fetch.Request{Method: "DELETE", URL: url})
	note("other method", "made", err)
	_, err = o.HTTP(ctx, &fetch.Request{Method: "GET", URL: "https://example.com/"})
	note("other host", "made", err)
	return said
}

func numbered(err error, text string) string { return fmt.Sprintf("error %d: %s", numberOf(err), text) }

// TestCapabilitiesOfAChild (SPEC A10, B6): a guest behind the wall has the capabilities of its behavior and no others, and the parent
// does what they allow.
func TestCapabilitiesOfAChild(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := make([]byte, 10)
		n, _ := r.Body.Read(body)
		w.Header().Set("X-Answer", r.Header.Get("X-Test"))
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "%s %s", r.Method, body[:n])
	}))
	defer site.Close()
	t.Setenv(server, site.URL)
	b := start(t, 10*time.Second, func(c *Config) { c.Grants = granted(t, site.URL) })
	b.assign("outside", task.Payload{}, 7)
	b.until("a report", func() bool { return len(b.reports) == 1 })
	if b.reports[0].Finish == nil || b.reports[0].Finish.Error != nil {
		t.Fatalf("%+v", b.reports[0])
	}
	var said map[string]string
	if err := json.Unmarshal(b.reports[0].Finish.Result.Data, &said); err != nil {
		t.Fatal(err)
	}
	host := strings.TrimPrefix(site.URL, "http://")
	want := map[string]string{
		"secret": "hush", "other secret": numbered(grants.ErrDenied, grants.ErrDenied.Error()),
		"child": "allowed", "other child": numbered(grants.ErrDenied, grants.ErrDenied.Error()),
		"limits": fmt.Sprint(100, 1<<20), "http": "418 [yes] POST body",
		"other method": numbered(fetch.ErrDenied, "not allowed: method \"DELETE\" of "+host),
		"other host":   numbered(fetch.ErrDenied, "not allowed: https://example.com"),
	}
	for what, w := range want {
		if said[what] != w {
			t.Errorf("%s: %q, want %q", what, said[what], w)
		}
	}
	// The attempt is over. A child that goes on using its token gets nothing, nor does one that makes a token up.
	c := b.process()
	for _, token := range []uint64{7, 8} { // that the attempt is over comes another way than its report
		for end := time.Now().Add(time.Minute); ; <-time.After(time.Millisecond) {
			l, err := c.leases.find(worker.Lease{Token: token, Until: runtime.Boottime() + time.Hour})
			if errors.Is(err, runtime.ErrLeaseLost) {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("token %d: %+v, %v", token, l, err)
			}
		}
	}
}

// granted allows to the behavior outside what the tests ask for.
func granted(t *testing.T, url string) *grants.Grants {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"key", "other"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("hush"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g, err := grants.Parse(fmt.Appendf(nil, `{"secrets_dir": %q, "grants": [
		{"namespace": "default", "behavior": "outside", "secrets": ["key"], "tasks": ["outside"],
		 "http": [{"hosts": [%q], "schemes": ["http"], "methods": ["POST"], "private": ["127.0.0.0/8"], "max_request_bytes": 100}]},
		{"namespace": "default", "behavior": "rich", "secrets": ["*"], "tasks": ["*"]}]}`, dir, strings.TrimPrefix(url, "http://")), "")
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestLeasesDoze: without leases the parent looks at its child seldom, and the next lease wakes it, once.
func TestLeasesDoze(t *testing.T) {
	t.Parallel()
	l := newLeases(4, false)
	give := func(token uint64) {
		l.see(&stream.Frame{Assign: []stream.Assignment{{
			Task: &task.Task{Lease: &task.Lease{Token: token, Session: 1}}, Policy: &task.Policy{RunTimeout: 1000},
		}}}, 0)
	}
	woken := func() bool {
		select {
		case <-l.came:
			return true
		default:
			return false
		}
	}
	if give(1); woken() || l.doze() || woken() {
		t.Error("a child with a lease is left alone, or a parent that did not doze is woken")
	}
	if l.end(1); !l.doze() || woken() {
		t.Error("a child without leases is not left alone")
	}
	if give(2); !woken() {
		t.Error("a lease does not wake the parent")
	}
	if give(3); woken() || l.doze() {
		t.Error("a second lease wakes it again, or it dozes beside two leases")
	}
	l.end(2)
	l.see(&stream.Frame{Halt: []uint64{3}}, 0)
	if !l.doze() {
		t.Error("a child without leases is not left alone")
	}
	give(4) // while the parent looks for another reason
	l.end(4)
	if !l.doze() || woken() {
		t.Error("a lease that has ended wakes the parent")
	}
}

// TestLeases: a right to act is the leader's word, it ends with the attempt, with its time, and with the worker's, and the table is
// bounded.
func TestLeases(t *testing.T) {
	t.Parallel()
	l := newLeases(0, false)
	soon := runtime.Boottime() + time.Hour
	give := func(tokens ...uint64) {
		f := &stream.Frame{}
		for _, token := range tokens {
			f.Assign = append(f.Assign, stream.Assignment{
				Task: &task.Task{Namespace: "ns", Behavior: "b", Lease: &task.Lease{Token: token, Session: 1}}, Policy: &task.Policy{RunTimeout: 1000},
			})
		}
		l.see(f, 0)
	}
	live := func(token uint64) bool {
		found, err := l.find(worker.Lease{Token: token, Until: soon})
		return err == nil && found.key.Namespace == "ns" && found.behavior == "b"
	}
	give(1, 2, 3)
	if live(1) {
		t.Error("a right to act without a session")
	}
	l.see(&stream.Frame{Welcome: &stream.Welcome{Session: 1, TTL: 3_600_000}}, runtime.Boottime())
	l.see(&stream.Frame{Halt: []uint64{2}}, 0)
	l.end(3)
	for token, want := range []bool{false, true, false, false} {
		if live(uint64(token)) != want {
			t.Errorf("token %d: %v", token, !want)
		}
	}
	if _, err := l.find(worker.Lease{Token: 1, Until: runtime.Boottime()}); !errors.Is(err, runtime.ErrLeaseLost) {
		t.Errorf("past the worker's margin: %v", err)
	}
	l.held.Sent -= time.Hour // no renewal was answered for as long
	if live(1) {
		t.Error("an attempt of a session lives that nobody has renewed")
	}
	l.see(&stream.Frame{Renewed: &stream.Renewed{}}, runtime.Boottime())
	if !live(1) {
		t.Error("a renewal that was answered does not count")
	}
	l.byToken[1].until = runtime.Boottime()
	if live(1) {
		t.Error("an attempt lives that the leader has ended")
	}
	const first = 10
	give(first)
	for token := uint64(first + 1); token < first+3*endedLeases; token++ {
		give(token)
		if token%2 == 0 {
			l.end(token)
		}
	}
	if len(l.byToken) > l.most || len(l.given) > 2*l.most || live(first) || !live(first+3*endedLeases-1) {
		t.Errorf("%d leases, %d tokens", len(l.byToken), len(l.given))
	}
	l.see(&stream.Frame{Welcome: &stream.Welcome{Session: 2, TTL: 3_600_000}}, runtime.Boottime())
	if live(first + 3*endedLeases - 1) {
		t.Error("an attempt of the former session lives")
	}
}

// TestLongAttemptIsRemembered: however many attempts come and go meanwhile, one that executes keeps its rights.
func TestLongAttemptIsRemembered(t *testing.T) {
	t.Parallel()
	l := newLeases(1, false)
	l.see(&stream.Frame{Welcome: &stream.Welcome{Session: 1, TTL: 3_600_000}}, runtime.Boottime())
	for token := uint64(1); token < 3*uint64(l.most); token++ {
		l.see(&stream.Frame{Assign: []stream.Assignment{{
			Task: &task.Task{Lease: &task.Lease{Token: token, Session: 1}}, Policy: &task.Policy{RunTimeout: 3_600_000},
		}}}, 0)
		if token > 1 {
			l.end(token)
		}
	}
	if _, err := l.find(worker.Lease{Token: 1, Until: runtime.Boottime() + time.Hour}); err != nil {
		t.Error(err)
	}
	if len(l.byToken) > l.most {
		t.Errorf("%d leases", len(l.byToken))
	}
}
