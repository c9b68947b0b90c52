package clustertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/apitest"
	"github.com/taskrt/taskrt/api/server"
	"github.com/taskrt/taskrt/task"
)

// site is a real node behind HTTP.
type site struct {
	c       *Cluster
	handler http.Handler
}

func (s *site) do(method, target, contentType string, body io.Reader, size int64) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, body)
	r.Host = "localhost"
	r.ContentLength = size
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r.WithContext(s.c.t.Context()))
	return w
}

// digest stands for the machine with its log. It changes with every entry.
func (s *site) digest() (d task.Digest) {
	s.c.Node(0).Store().Local(func(m *task.Machine) { d = m.Digest() })
	return d
}

// state returns all that bad input must not change: the lists of the API and the files of modules.
func (s *site) state() string {
	var b strings.Builder
	for _, path := range []string{"/v1/tasks", "/v1/behaviors", "/v1/modules", "/taskstore/groups"} {
		w := s.do("GET", path, "", http.NoBody, 0)
		if w.Code != http.StatusOK {
			s.c.t.Errorf("GET %s: %d %s", path, w.Code, w.Body)
		}
		fmt.Fprintln(&b, path, w.Body)
	}
	err := filepath.WalkDir(filepath.Join(s.c.dir, "n1", "blobs"), func(path string, _ fs.DirEntry, err error) error {
		fmt.Fprintln(&b, path)
		return err
	})
	if err != nil {
		s.c.t.Error(err)
	}
	return b.String()
}

// bad is a request that must be refused.
type bad struct {
	name, method, target, contentType, body string

	status      int
	code, field string
}

func (s *site) refuses(t *testing.T, x bad) {
	t.Helper()
	before, digest := s.state(), s.digest()
	s.checkProblem(t, x, s.do(x.method, x.target, x.contentType, strings.NewReader(x.body), int64(len(x.body))))
	if after := s.state(); after != before {
		t.Fatalf("%s: something was stored:\n%s\nbefore:\n%s", x.name, after, before)
	}
	decided := x.status == http.StatusConflict || x.status == http.StatusNotFound && x.method != http.MethodGet
	if !decided && s.digest() != digest { // only a request that depends on a task's state may reach the log
		t.Errorf("%s: it was written to the log", x.name)
	}
}

func (s *site) checkProblem(t *testing.T, x bad, w *httptest.ResponseRecorder) {
	t.Helper()
	var p api.Error
	if ct := w.Header().Get("Content-Type"); ct != "application/problem+json" {
		t.Errorf("%s: %d, %s: %.300s", x.name, w.Code, ct, w.Body)
		return
	}
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Errorf("%s: %v", x.name, err)
	}
	if w.Code != x.status || p.Status != x.status || p.Code != x.code || p.Field != x.field || p.Title == "" || p.Detail == "" ||
		p.Code == api.CodeTooLarge && p.Limit == 0 {
		t.Errorf("%s: got %d %s, want %d, code %s, field %q", x.name, w.Code, strings.TrimSpace(w.Body.String()), x.status, x.code, x.field)
	}
}

// TestBadInput: every error in a request gets a 4xx that names it. Nothing is stored, and the node stays healthy.
func TestBadInput(t *testing.T) {
	Run(t, 1, Options{NoWorkers: true}, func(t *testing.T, c *Cluster) {
		s := &site{c: c, handler: server.New(c.Node(0), server.Config{})}
		wasm, _, err := Guest("echo")
		if err != nil {
			t.Fatal(err)
		}
		c.PushWasm(0, "", wasm, []byte(`{"schema":1,"behaviors":[{"name":"echo"},{"name":"hashed","id":{"strategy":"params","from":["/a"]}},
			{"name":"named","id":{"strategy":"caller"}},{"name":"small","limits":{"params_bytes":10}},
			{"name":"typed","params_schema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}]}`))
		c.SubmitRequest(0, api.SubmitRequest{Behavior: "echo", ID: "there"})
		before := s.state()
		for _, x := range slices.Concat(badSubmits(), badRequests(), badUploads(wasm)) {
			s.refuses(t, x)
		}
		s.badBatch(t)
		s.hugeUploads(t)
		if after := s.state(); after != before {
			t.Errorf("something was stored:\n%s\nbefore:\n%s", after, before)
		}
		if w := s.do("GET", "/readyz", "", http.NoBody, 0); w.Code != http.StatusOK {
			t.Errorf("not ready: %d %s", w.Code, w.Body)
		}
		good := `{"behavior":"typed","params":{"n":1},"priority":9,"delay":"0s"}`
		if w := s.do("POST", "/v1/tasks", "application/json", strings.NewReader(good), int64(len(good))); w.Code != http.StatusCreated {
			t.Errorf("a good submit: %d %s", w.Code, w.Body)
		}
	})
}

// badSubmits are wrong bodies of POST /v1/tasks.
func badSubmits() []bad {
	var all []bad
	add := func(name, body string, status int, code, field string) {
		all = append(all, bad{name, "POST", "/v1/tasks", "application/json", body, status, code, field})
	}
	echo := func(rest string) string { return `{"behavior":"echo",` + rest + `}` }
	json, unknown, invalid, large := api.CodeInvalidJSON, api.CodeUnknownField, api.CodeInvalidField, api.CodeTooLarge

	add("empty", "", 400, json, "")
	add("no JSON", "behavior=echo", 400, json, "")
	add("JSON cut off", `{"behavior":"echo"`, 400, json, "")
	add("two values", `{"behavior":"echo"}{}`, 400, json, "")
	add("list", `[]`, 400, json, "")
	add("null", `null`, 400, json, "")
	add("NaN", echo(`"priority":NaN`), 400, json, "")
	add("comment", `{"behavior":"echo" /* why */}`, 400, json, "")
	add("invalid UTF-8", echo("\"id\":\"abc\xff\""), 400, json, "")
	add("invalid UTF-8 in params", echo("\"params\":\"\xc3\x28\""), 400, json, "")
	add("deep nesting", echo(`"params":`+strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000)), 400, json, "")
	add("deep nesting that never ends", strings.Repeat(`{"params":`, 100_000), 400, json, "")
	add("field twice", echo(`"behavior":"small"`), 400, json, "behavior")
	add("label twice", echo(`"labels":{"a":"1","a":"2"}`), 400, json, "labels.a")

	add("unknown field", echo(`"colour":"red"`), 400, unknown, "colour")
	add("field in other case", echo(`"ID":"abc"`), 400, unknown, "ID")

	add("no behavior", `{}`, 400, invalid, "behavior")
	add("behavior of another type", `{"behavior":7}`, 400, invalid, "behavior")
	add("behavior's name is none", `{"behavior":"Echo!"}`, 400, invalid, "behavior")
	add("unknown behavior", `{"behavior":"nobody"}`, 404, api.CodeBehaviorNotFound, "behavior")
	add("unknown namespace", echo(`"namespace":"elsewhere"`), 404, "namespace_not_found", "namespace")
	add("namespace that is none", echo(`"namespace":"a b"`), 400, invalid, "namespace")

	for name, id := range map[string]string{
		"short": "ab", "long": strings.Repeat("x", 129), "with space": "a b c", "with slash": "a/b/c", "with NUL": `a\u0000b`,
		"with newline": `a\nbc`, "of letters elsewhere": "äöü", "that climbs": "../../etc",
	} {
		add("ID "+name, echo(`"id":"`+id+`"`), 400, invalid, "id")
	}
	add("ID of another type", echo(`"id":123}`[:len(`"id":123`)]), 400, invalid, "id")
	add("ID that is taken", echo(`"id":"there","if_exists":"fail"`), 409, "already_exists", "id")
	add("ID of another behavior", `{"behavior":"typed","params":{"n":1},"id":"there"}`, 409, "other_behavior", "id")
	add("no ID where the caller gives it", `{"behavior":"named"}`, 400, invalid, "id")
	add("if_exists", echo(`"if_exists":"maybe"`), 400, invalid, "if_exists")

	add("params and bytes", echo(`"params":1,"params_base64":"AA=="`), 400, invalid, "params_base64")
	add("bytes that are not base64", echo(`"params_base64":"%%"`), 400, invalid, "params_base64")
	add("a blob that is not stored", echo(`"params":`+refTo([]byte("nobody has it"))), 409, "blob_gone", "params")
	add("naming one", echo(`"params":[1,{"a":`+refTo([]byte("nobody has it"))+`}]`), 409, "blob_gone", "params")
	add("over the behavior's limit", `{"behavior":"small","params":"1234567890"}`, 413, large, "params")
	add("oversized body", echo(`"params":"`+strings.Repeat("x", api.MaxBody)+`"`), 413, large, "")
	add("against the schema", `{"behavior":"typed","params":{"n":"one"}}`, 422, api.CodeParamsSchema, "params.n")
	add("no ID can be computed: nothing there", `{"behavior":"hashed","params":{}}`, 422, api.CodeInvalidParams, "params/a")
	add("no ID can be computed: number", `{"behavior":"hashed","params":{"a":1e400}}`, 422, api.CodeInvalidParams, "params")
	add("no ID can be computed: twice", `{"behavior":"hashed","params":{"a":1,"a":2}}`, 422, api.CodeInvalidParams, "params")
	add("no ID can be computed: surrogate", `{"behavior":"hashed","params":{"a":"\ud800"}}`, 422, api.CodeInvalidParams, "params")

	add("negative delay", echo(`"delay":"-1s"`), 400, invalid, "delay")
	add("delay without unit", echo(`"delay":"10"`), 400, invalid, "delay")
	add("delay of a number", echo(`"delay":10`), 400, invalid, "delay")
	add("delay over any number", echo(`"delay":"99999999h"`), 400, invalid, "delay")
	add("delay and time", echo(`"delay":"1s","not_before":"2030-01-01T00:00:00Z"`), 400, invalid, "delay")
	add("time that is none", echo(`"not_before":"tomorrow"`), 400, invalid, "not_before")
	add("time before there was time", echo(`"not_before":"1900-01-01T00:00:00Z"`), 400, invalid, "not_before")
	add("time of five digits", echo(`"not_before":"99999-01-01T00:00:00Z"`), 400, invalid, "not_before")
	add("time as a number", echo(`"deadline":1e30`), 400, invalid, "deadline")
	add("priority below", echo(`"priority":-1`), 400, invalid, "priority")
	add("priority above", echo(`"priority":10`), 400, invalid, "priority")
	add("priority wraps around", echo(`"priority":260`), 400, invalid, "priority")
	add("priority over any number", echo(`"priority":123456789012345678901234567890`), 400, invalid, "priority")
	add("priority over any double", echo(`"priority":1e999`), 400, invalid, "priority")
	add("priority between", echo(`"priority":1.5`), 400, invalid, "priority")

	add("label of another type", echo(`"labels":{"a":1}`), 400, invalid, "labels")
	add("label without name", echo(`"labels":{"":"x"}`), 400, invalid, "labels")
	add("label with =", echo(`"labels":{"a=b":"x"}`), 400, invalid, "labels")
	add("long label", echo(`"labels":{"a":"`+strings.Repeat("x", 257)+`"}`), 413, large, "labels.a")
	var many []string
	for i := range 65 {
		many = append(many, fmt.Sprintf(`"l%d":""`, i))
	}
	add("many labels", echo(`"labels":{`+strings.Join(many, ",")+`}`), 413, large, "labels")

	add("10,001 tasks", `{"tasks":[{"behavior":"echo"}`+strings.Repeat(`,{"behavior":"echo"}`, api.MaxBatch)+`]}`, 413, large, "tasks")
	add("tasks that are no list", `{"tasks":{}}`, 400, invalid, "tasks")
	add("tasks of null", `{"tasks":null}`, 400, invalid, "tasks")
	add("envelope with more", `{"tasks":[{"behavior":"echo"}],"atomic":true}`, 400, unknown, "atomic")
	return all
}

// badRequests are requests with an error in their path, query, headers or method.
func badRequests() []bad {
	const j = "application/json"
	invalid, unknown := api.CodeInvalidField, api.CodeUnknownField
	long := strings.Repeat("x", 129)
	return []bad{
		{"form", "POST", "/v1/tasks", "application/x-www-form-urlencoded", `{"behavior":"echo"}`, 415, api.CodeUnsupportedMedia, "Content-Type"},
		{"other charset", "POST", "/v1/tasks", j + "; charset=utf-16", `{"behavior":"echo"}`, 415, api.CodeUnsupportedMedia, "Content-Type"},
		{"no such path", "GET", "/v2/tasks", "", "", 404, api.CodeNotFound, ""},
		{"path that climbs", "GET", "/v1/tasks/../../etc/passwd", "", "", 404, api.CodeNotFound, ""},
		{"method", "PUT", "/v1/cluster", "", "", 405, api.CodeMethodNotAllowed, ""},
		{"unknown query parameter", "GET", "/v1/tasks?colour=red", "", "", 400, unknown, "colour"},
		{"query parameter twice", "GET", "/v1/tasks?limit=1&limit=2", "", "", 400, invalid, "limit"},
		{"query that cannot be read", "GET", "/v1/tasks?a=%zz", "", "", 400, api.CodeBadRequest, ""},
		{"limit of 0", "GET", "/v1/tasks?limit=0", "", "", 400, invalid, "limit"},
		{"limit over", "GET", "/v1/tasks?limit=1001", "", "", 400, invalid, "limit"},
		{"limit over any number", "GET", "/v1/tasks?limit=99999999999999999999", "", "", 400, invalid, "limit"},
		{"negative limit", "GET", "/v1/tasks?limit=-1", "", "", 400, invalid, "limit"},
		{"status", "GET", "/v1/tasks?status=DONE", "", "", 400, invalid, "status"},
		{"label filter", "GET", "/v1/tasks?label=a", "", "", 400, invalid, "label"},
		{"time filter", "GET", "/v1/tasks?due_before=now", "", "", 400, invalid, "due_before"},
		{"cursor", "GET", "/v1/tasks?cursor=%00garbage", "", "", 400, invalid, "cursor"},
		{"consistency", "GET", "/v1/tasks?consistency=eventual", "", "", 400, invalid, "consistency"},
		{"unknown namespace", "GET", "/v1/tasks?namespace=elsewhere", "", "", 404, "namespace_not_found", "namespace"},
		{"wait that is none", "GET", "/v1/tasks/there?wait=long", "", "", 400, invalid, "wait"},
		{"negative wait", "GET", "/v1/tasks/there?wait=-1s", "", "", 400, invalid, "wait"},
		{"endless wait", "GET", "/v1/tasks/there?wait=1000h", "", "", 400, invalid, "wait"},
		{"until", "GET", "/v1/tasks/there?until=never", "", "", 400, invalid, "until"},
		{"until without number", "GET", "/v1/tasks/there?until=rev:x", "", "", 400, invalid, "until"},
		{"ID in the path", "GET", "/v1/tasks/a%20b", "", "", 400, invalid, "id"},
		{"long ID in the path", "DELETE", "/v1/tasks/" + long, "", "", 400, invalid, "id"},
		{"slash in the ID", "POST", "/v1/tasks/a%2Fb%2Fc/cancel", "", "", 400, invalid, "id"},
		{"no such task", "GET", "/v1/tasks/nobody", "", "", 404, api.CodeTaskNotFound, ""},
		{"cancel no such task", "POST", "/v1/tasks/nobody/cancel", "", "", 404, api.CodeTaskNotFound, ""},
		{"remove no such task", "DELETE", "/v1/tasks/nobody", "", "", 404, api.CodeTaskNotFound, ""},
		{"log of no such task", "GET", "/v1/tasks/nobody/logs", "", "", 404, api.CodeTaskNotFound, ""},
		{"cancel with a body", "POST", "/v1/tasks/there/cancel", j, `{"why":"so"}`, 400, unknown, "why"},
		{"remove with a body", "DELETE", "/v1/tasks/there", j, `{}`, 400, api.CodeBadRequest, ""},
		{"behavior's name in the path", "GET", "/v1/behaviors/No%20Name", "", "", 400, invalid, "name"},
		{"no such behavior", "GET", "/v1/behaviors/nobody", "", "", 404, api.CodeBehaviorNotFound, ""},
		{"digest in the path", "GET", "/v1/modules/xyz", "", "", 400, invalid, "digest"},
		{"no such module", "GET", "/v1/modules/" + strings.Repeat("0", 64), "", "", 404, api.CodeModuleNotFound, ""},
	}
}

// badUploads are wrong bodies and parameters of POST /v1/modules.
func badUploads(echo []byte) []bad {
	var all []bad
	push := func(name, query string, wasm []byte, status int, code, field string) {
		all = append(all, bad{name, "POST", "/v1/modules" + query, "application/wasm", string(wasm), status, code, field})
	}
	ok := apitest.ModuleOK("")
	in := func(old, new string) []byte {
		changed := bytes.Replace(ok, []byte(old), []byte(new), 1)
		if bytes.Equal(changed, ok) {
			panic("nothing was changed")
		}
		return changed
	}
	manifest := func(text string) string { return "?manifest=" + url.QueryEscape(text) }
	const memory = "\x05\x03\x01\x00\x01" // the section of one memory of one page
	oneImport := func(module, name string) []byte {
		content := "\x01" + string(rune(len(module))) + module + string(rune(len(name))) + name + "\x00\x00"
		return in("\x03\x02\x01\x00", "\x02"+string(rune(len(content)))+content+"\x03\x02\x01\x00")
	}

	push("nothing", "?name=bad", nil, 422, "not_wasm", "")
	push("not wasm", "?name=bad", []byte("#!/bin/sh\necho hello\n"), 422, "not_wasm", "")
	push("truncated", "?name=bad", echo[:len(echo)/2], 422, "truncated", "code section")
	push("component binary", "?name=bad", []byte("\x00asm\x0d\x00\x01\x00"), 422, "component_binary", "")
	push("no taskrt_run", "?name=bad", in("taskrt_run", "taskrt_fun"), 422, "missing_export", "export taskrt_run")
	push("no memory", "?name=bad", in("\x06memory", "\x06memoir"), 422, "missing_export", "export memory")
	push("unknown import", "?name=bad", oneImport("env", "f"), 422, "bad_import", "import env.f")
	push("reserved import", "?name=bad", oneImport("taskrt_sys", "tick"), 422, "bad_import", "import taskrt_sys.tick")
	push("another ABI", "?name=bad", oneImport("taskrt_v9", "len"), 422, "abi_version", "import taskrt_v9.len")
	push("memory over any limit", "?name=bad", in(memory, "\x05\x05\x01\x00\x81\x80\x01"), 422, "memory_limit", "memory")
	push("memory over the default limit", "?name=bad", in(memory, "\x05\x04\x01\x00\x81\x08"), 422, "memory_limit", "behaviors[0].limits.memory_bytes")
	push("memory over its own limit", manifest(`{"schema":1,"behaviors":[{"name":"bad","limits":{"memory_bytes":65536}}]}`),
		in(memory, "\x05\x03\x01\x00\x02"), 422, "memory_limit", "behaviors[0].limits.memory_bytes")
	push("code that is none", "?name=bad", in("\x41\x00\x0b", "\x42\x00\x0b"), 422, "compile_failed", "")

	push("no name", "", ok, 422, "bad_manifest", "behaviors[0].name")
	push("bad name", "?name=A+B", ok, 400, api.CodeInvalidField, "name")
	push("manifest that is no JSON", "?manifest=%7B", ok, 400, api.CodeInvalidJSON, "manifest")
	push("manifest that is too deep", manifest(strings.Repeat("[", 1000)+strings.Repeat("]", 1000)), ok, 400, api.CodeInvalidJSON, "manifest")
	push("manifest of nothing", manifest(`{"schema":1,"behaviors":[]}`), ok, 422, "bad_manifest", "behaviors")
	push("manifest of another schema", manifest(`{"schema":9,"behaviors":[{"name":"bad"}]}`), ok, 422, "bad_manifest", "schema")
	push("unknown field", manifest(`{"schema":1,"behaviors":[{"name":"bad","colour":"red"}]}`), ok, 422, "bad_manifest", "behaviors[0].colour")
	push("number out of range", manifest(`{"schema":1,"behaviors":[{"name":"bad","retry":{"max_attempts":-1}}]}`), ok, 422, "bad_manifest", "behaviors[0].retry.max_attempts")
	push("number over any", manifest(`{"schema":1,"behaviors":[{"name":"bad","limits":{"memory_bytes":1e99}}]}`), ok, 422, "bad_manifest", "behaviors[0].limits.memory_bytes")
	push("schema that is none", manifest(`{"schema":1,"behaviors":[{"name":"bad","params_schema":{"type":7}}]}`), ok, 422, "bad_manifest", "behaviors[0].params_schema")
	push("schema from elsewhere", manifest(`{"schema":1,"behaviors":[{"name":"bad","params_schema":{"$ref":"file:///etc/passwd"}}]}`), ok, 422, "bad_manifest", "behaviors[0].params_schema")
	push("capability not granted", manifest(`{"schema":1,"requires":["secrets"],"behaviors":[{"name":"bad"}]}`), ok, 422, "capability_not_granted", "requires[0]")
	push("unknown capability", manifest(`{"schema":1,"requires":["network"],"behaviors":[{"name":"bad"}]}`), ok, 422, "unknown_capability", "requires[0]")
	push("unknown namespace", "?name=bad&namespace=elsewhere", ok, 404, "namespace_not_found", "namespace")
	push("unknown parameter", "?name=bad&force=yes", ok, 400, api.CodeUnknownField, "force")
	all = append(all,
		bad{"other type", "POST", "/v1/modules?name=bad", "text/plain", string(ok), 415, api.CodeUnsupportedMedia, "Content-Type"},
		bad{"no type", "POST", "/v1/modules?name=bad", "", string(ok), 415, api.CodeUnsupportedMedia, "Content-Type"},
		bad{"multipart without a module", "POST", "/v1/modules", "multipart/form-data; boundary=x", "--x--\r\n", 400, api.CodeInvalidField, "module"},
		bad{"multipart cut off", "POST", "/v1/modules", "multipart/form-data; boundary=x", "--x\r\nContent-Dis", 400, api.CodeBadRequest, ""},
	)
	return all
}

// badBatch: a batch is no transaction, so each wrong task has an answer of its own (SPEC H1).
func (s *site) badBatch(t *testing.T) {
	const body = `{"tasks":[{"behavior":"nobody"},{"behavior":"echo","id":"a b"},7,{"behavior":"echo","delay":"-1s"},{"behavior":"echo","colour":1}]}`
	w := s.do("POST", "/v1/tasks", "application/json", strings.NewReader(body), int64(len(body)))
	var got struct {
		Results []struct{ Error *api.Error }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	var said []string
	for _, r := range got.Results {
		said = append(said, fmt.Sprintf("%d %s %s", r.Error.Status, r.Error.Code, r.Error.Field))
	}
	want := []string{
		"404 behavior_not_found behavior", "400 invalid_field id", "400 invalid_json ", "400 invalid_field delay", "400 unknown_field colour",
	}
	if !slices.Equal(said, want) {
		t.Errorf("batch: got %q, want %q", said, want)
	}
}

// flood is a body that is made while it is read.
type flood struct{ left, read int64 }

func (f *flood) Read(p []byte) (int, error) {
	n := min(f.left, int64(len(p)))
	clear(p[:n])
	f.left, f.read = f.left-n, f.read+n
	if n == 0 {
		return 0, io.EOF
	}
	return int(n), nil
}

// hugeUploads: a body that gives its length is refused unread. Another body is read up to the limit.
func (s *site) hugeUploads(t *testing.T) {
	const size = 100 << 20
	for name, x := range map[string]struct {
		says int64
		most int64
	}{"100 MiB": {size, 0}, "100 MiB, size unknown": {-1, api.MaxModule + 1<<20}} {
		f := &flood{left: size}
		w := s.do("POST", "/v1/modules?name=bad", "application/wasm", f, x.says)
		s.checkProblem(t, bad{name: name, status: 413, code: api.CodeTooLarge}, w)
		if f.read > x.most {
			t.Errorf("%s: %d bytes were read, at most %d", name, f.read, x.most)
		}
	}
}
