package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// span is one that came to the collector.
type span struct {
	*otlp.Span
	process string // ID of the node or worker that sent it
}

func (s span) id() string     { return hex.EncodeToString(s.SpanId) }
func (s span) parent() string { return hex.EncodeToString(s.ParentSpanId) }

// is returns an attribute.
func (s span) is(name string) string {
	for _, a := range s.Attributes {
		if a.Key == "taskrt."+name {
			if s := a.Value.GetStringValue(); s != "" {
				return s
			}
			return fmt.Sprint(a.Value.GetIntValue())
		}
	}
	return ""
}

// sink is a collector, which takes OTLP over HTTP in the protocol's own types.
type sink struct {
	mu    sync.Mutex
	spans map[string][]span // by trace
}

func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q collector.ExportTraceServiceRequest
	body, err := io.ReadAll(r.Body)
	if err == nil && r.Header.Get("Content-Encoding") == "gzip" {
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(body)); err == nil {
			body, err = io.ReadAll(z)
		}
	}
	if err == nil {
		err = proto.Unmarshal(body, &q)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil { // also of a process that was killed while it sent
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	for _, of := range q.ResourceSpans {
		process := ""
		for _, a := range of.Resource.Attributes {
			if a.Key == "service.instance.id" {
				process = a.Value.GetStringValue()
			}
		}
		for _, scope := range of.ScopeSpans {
			for _, x := range scope.Spans {
				id := hex.EncodeToString(x.TraceId)
				s.spans[id] = append(s.spans[id], span{x, process})
			}
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// find returns the spans of a trace that have this name and are about this attempt, TASK#NUMBER ("": any).
func (s *sink) find(trace, name, task string) (found []span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.spans[trace] {
		if x.Name == name && (task == "" || x.is("task")+"#"+x.is("attempt") == task) {
			found = append(found, x)
		}
	}
	return found
}

// below counts the spans of a name right below another.
func (s *sink) below(trace, name string, parent span) (n int) {
	for _, x := range s.find(trace, name, "") {
		if x.parent() == parent.id() {
			n++
		}
	}
	return n
}

// TestTraces: what a submitter begins is one trace, from its own span to the host calls of guests and the attempts of children, over processes, also
// over one that is killed, and over retries (SPEC U2). The collector speaks the protocol's own types.
func TestTraces(t *testing.T) {
	t.Parallel()
	s := &sink{spans: map[string][]span{}}
	at := httptest.NewServer(s)
	t.Cleanup(at.Close)
	env := []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + at.URL, "OTEL_BSP_SCHEDULE_DELAY=100"}
	grants := filepath.Join(t.TempDir(), "capabilities.json")
	if err := os.WriteFile(grants, []byte(`{"grants": [{"namespace": "default", "behavior": "submits*", "tasks": ["echo"]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c := newClusterIn(t, env, "--worker", "none", "--session-ttl", "5s", "--capabilities", grants)
	c.workerEnv = env
	c.push("wait", "steps", "flaky", "submits", "echo", "spans")
	for _, id := range []string{"w1", "w2"} {
		c.addWorker(id, 4, "--capabilities", grants)
	}
	const trace, submitter = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	submit := func(stdin string, args ...string) {
		t.Helper()
		cmd := c.command(binary, append([]string{"submit"}, args...)...)
		cmd.Env = append(os.Environ(), "TRACEPARENT=00-"+trace+"-"+submitter+"-01")
		cmd.Stdin = strings.NewReader(stdin)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("submit %v: %v\n%s", args, err, out)
		}
	}
	submit("", "wait", "--id", "long", "--params", "8000")
	victim := c.runningOn("long")
	c.process(victim).kill9()
	submit("", "steps", "--id", "steps")
	submit("", "spans", "--id", "spans")
	submit("", "flaky", "--id", "flaky", "--params", `{"fail":1}`)
	submit("=\n"+`{"behavior":"echo","id":"child"}`+"\n", "submits", "--id", "parent", "--params-bytes", "-")
	last := map[string]string{} // attempts; a machine that stands still may have lost others before
	for _, id := range []string{"long", "steps", "spans", "flaky", "parent", "child"} {
		got := c.final(id)
		if got.Status != "SUCCESS" {
			t.Fatalf("%+v", got)
		}
		last[id] = fmt.Sprintf("%s#%d", id, got.Attempt)
	}

	one := func(name, task string) (x span) {
		t.Helper()
		c.eventually(fmt.Sprintf("the span %s of %s comes", name, task), func() bool {
			found := s.find(trace, name, task)
			if len(found) > 0 {
				x = found[0]
			}
			return len(found) > 0
		})
		return x
	}
	c.eventually("four submits, each with a commit", func() bool { return len(s.find(trace, "submit", "")) >= 4 && len(s.find(trace, "commit", "")) >= 4 })
	submits := map[string]bool{}
	for _, x := range s.find(trace, "submit", "") {
		submits[x.id()] = true
		if x.parent() != submitter || x.Status.GetCode() != otlp.Status_STATUS_CODE_ERROR && s.below(trace, "commit", x) == 0 || !strings.HasPrefix(x.process, "n") {
			t.Errorf("submit of %s: %v", x.process, x)
		}
	}
	lost, again := one("attempt", "long#1"), one("attempt", "long#2")
	if lost.is("outcome") != "LOST" || lost.is("worker") != victim || !submits[lost.parent()] || lost.process == victim {
		t.Errorf("the attempt that was lost, told by %s: %v", lost.process, lost)
	}
	if again.parent() != lost.parent() || len(again.Links) != 1 || !bytes.Equal(again.Links[0].SpanId, lost.SpanId) || again.is("worker") == lost.is("worker") {
		t.Errorf("the attempt after it, told by %s: %v", again.process, again)
	}
	if x := one("wait", "long#2"); x.parent() != lost.parent() || s.below(trace, "guest", one("attempt", last["long"])) != 1 {
		t.Errorf("what lies around it: %v", x)
	}
	failed, retry := one("attempt", "flaky#1"), one("attempt", "flaky#2")
	if failed.Status.GetCode() != otlp.Status_STATUS_CODE_ERROR || len(retry.Links) != 1 || !bytes.Equal(retry.Links[0].SpanId, failed.SpanId) {
		t.Errorf("the attempt that failed: %v\nits retry: %v", failed, retry)
	}
	steps := one("attempt", last["steps"])
	c.eventually("a guest with five checkpoints", func() bool {
		for _, guest := range s.find(trace, "guest", "") {
			if s.below(trace, "checkpoint", guest) == 5 && guest.parent() == one("attempt", last["steps"]).id() {
				return true
			}
		}
		return false
	})
	work, save, check := one("work", ""), one("save", ""), one("check", "")
	if s.below(trace, "guest", one("attempt", last["spans"])) != 1 || save.parent() != work.id() || check.parent() != work.id() || s.below(trace, "checkpoint", save) != 1 {
		t.Errorf("spans of a guest: %v\nbelow it: %v, %v", work, save, check)
	}
	if check.Status.GetMessage() != "row 7 is bad" || work.EndTimeUnixNano < check.EndTimeUnixNano || !strings.HasPrefix(work.process, "w") || len(work.Attributes) != 2 || work.Attributes[1].Value.GetStringValue() != "3" {
		t.Errorf("spans of a guest, told by %s: %v, %v", work.process, work, check)
	}
	parent, child := one("attempt", last["parent"]), one("attempt", last["child"])
	if !submits[steps.parent()] || !submits[parent.parent()] || child.parent() != parent.id() || child.is("outcome") != "success" {
		t.Errorf("parent: %v\nchild: %v", parent, child)
	}
}
