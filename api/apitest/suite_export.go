package apitest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api"
)

// exportImport: everything live in a namespace goes into another namespace, and is the same there (SPEC M5).
func (s *suite) exportImport(ctx context.Context, t *testing.T) {
	const from, to = "apitest-export", "apitest-import"
	quota := api.Quota{MaxTasks: 500}
	s.namespace(ctx, t, from, quota)
	w := s.world(ctx, t, from)
	s.must(ctx, t, api.SubmitRequest{
		Namespace: from, Behavior: okBehavior, ID: "export-labelled", Delay: duration(1e15), ParamsBase64: []byte{0, 255}, Labels: map[string]string{"ü": "<&>"},
	})
	lines, err := s.exported(ctx, from, false)
	if err != nil {
		t.Fatal(err)
	}
	reply := s.imported(ctx, t, to, lines)
	if reply.Tasks != 4 || reply.Behaviors != 3 || reply.Records != 1 || reply.Skipped > 2 || reply.Modules+reply.Blobs+reply.Skipped != 2 {
		t.Errorf("imported %+v", reply)
	}
	if n, err := s.Namespace(ctx, to); err != nil || n.Quota != quota || n.Usage.Tasks != 4 {
		t.Errorf("the namespace is %+v, %v", n, err)
	}
	for _, id := range []string{w.done.ID, worldWaits, "export-labelled"} {
		s.sameTask(ctx, t, from, to, id)
	}
	// A running task becomes due in the copy: somebody else may take it.
	moved, err := s.Task(ctx, to, w.leased.ID, api.GetOptions{})
	if err != nil || moved.Status != "CREATED" || moved.NotBefore == nil || moved.Lease != nil || moved.Attempt != 1 {
		t.Errorf("what ran is %+v, %v", moved, err)
	}
	got := s.accept(ctx, t, api.AcceptRequest{Namespace: to, Behavior: worldExternal})
	if len(got) != 1 || got[0].ID != w.leased.ID || got[0].Attempt != 2 || got[0].Lease.Token == w.leased.Lease.Token {
		t.Fatalf("accepted %+v", got)
	}
	if records, err := api.CollectStore(s.StoreGroup(ctx, to, "g", 0, true)); err != nil || len(records) != 1 || records[0].Data != "x" || records[0].OwnerID != alice {
		t.Errorf("records %+v, %v", records, err)
	}
	a, errA := s.Behavior(ctx, from, worldExternal)
	b, errB := s.Behavior(ctx, to, worldExternal)
	if errA != nil || errB != nil || a.Version != b.Version || !bytes.Equal(a.Manifest, b.Manifest) {
		t.Errorf("behavior %+v, %v; want %+v, %v", b, errB, a, errA)
	}
	// The same import again doubles nothing, and leaves what has changed as it is.
	if again := s.imported(ctx, t, to, lines); again.Tasks+again.Behaviors+again.Records+again.Modules+again.Blobs != 0 || again.Skipped != 10 {
		t.Errorf("imported again: %+v", again)
	}
	if x, err := s.Task(ctx, to, w.leased.ID, api.GetOptions{}); err != nil || x.Status != "RUNNING" {
		t.Errorf("after another import: %+v, %v", x, err)
	}
	s.submitTo(ctx, t, to, worldExternal, "export-new")
}

func (s *suite) imported(ctx context.Context, t *testing.T, name string, lines []byte) *api.ImportReply {
	t.Helper()
	reply, err := s.ImportNamespace(ctx, api.ImportRequest{Name: name, Body: bytes.NewReader(lines)})
	if err != nil {
		t.Fatalf("import: %v; of\n%.2000s", err, lines)
	}
	return reply
}

// sameTask compares everything of a task except what belongs to its cluster.
func (s *suite) sameTask(ctx context.Context, t *testing.T, from, to, id string) {
	t.Helper()
	a, err := s.Task(ctx, from, id, api.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Task(ctx, to, id, api.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if b.Namespace != to || b.Rev == a.Rev {
		t.Errorf("task %s in %s with rev %d", id, b.Namespace, b.Rev)
	}
	b.Namespace, b.Rev = a.Namespace, a.Rev
	if !reflect.DeepEqual(a, b) {
		t.Errorf("exported %+v\nimported %+v", a, b)
	}
}

// exportRaw: a raw export has every stored record as it is. It is for people to look at.
func (s *suite) exportRaw(ctx context.Context, t *testing.T) {
	const name = "apitest-raw"
	s.namespace(ctx, t, name, api.Quota{})
	w := s.world(ctx, t, name)
	lines, err := s.exported(ctx, name, true)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for i, line := range strings.Split(strings.TrimSpace(string(lines)), "\n") {
		var members map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &members); err != nil || len(members) != 1 {
			t.Fatalf("line %d: %s: %v", i+1, line, err)
		}
		for kind := range members {
			counts[kind]++
		}
	}
	if got, want := fmt.Sprint(counts), "map[behavior:3 blob:1 end:1 header:1 module:1 namespace:1 record:1 task:3]"; got != want {
		t.Errorf("lines %s, want %s", got, want)
	}
	if !bytes.Contains(lines, fmt.Appendf(nil, `"token":%d`, w.leased.Lease.Token)) {
		t.Errorf("a lease is not shown:\n%s", lines)
	}
	_, err = s.ImportNamespace(ctx, api.ImportRequest{Name: "apitest-raw2", Body: bytes.NewReader(lines)})
	wantError(t, err, api.CodeBadArchive, "line 1")
	if _, err := s.exported(ctx, "apitest-nobody", false); api.CodeOf(err) != "namespace_not_found" {
		t.Errorf("export of nothing: %v", err)
	}
}

// importRehash: IDs that follow from params depend on the namespace, so in another namespace an equal submit makes another
// task. An import says how many tasks have such IDs, or gives them the IDs of the new namespace. IDs that a submit gave stay.
func (s *suite) importRehash(ctx context.Context, t *testing.T) {
	const from, other, rehashed, name = "apitest-hashed", "apitest-foreign", "apitest-rehashed", "apitest.params"
	s.namespace(ctx, t, from, api.Quota{})
	if _, err := s.PutBehavior(ctx, api.PutBehaviorRequest{Namespace: from, Name: name, Policy: json.RawMessage(`{"kind":"external","id":{"strategy":"params"}}`)}); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		s.must(ctx, t, api.SubmitRequest{Namespace: from, Behavior: name, Params: json.RawMessage(fmt.Sprint(i))})
	}
	s.must(ctx, t, api.SubmitRequest{Namespace: from, Behavior: name, ID: "given", Params: json.RawMessage(`0`)})
	lines, err := s.exported(ctx, from, false)
	if err != nil {
		t.Fatal(err)
	}
	outcome := func(namespace string) string {
		reply, err := s.Submit(ctx, api.SubmitRequest{Namespace: namespace, Behavior: name, Params: json.RawMessage(`1`)})
		if err != nil {
			t.Fatal(err)
		}
		return reply.Outcome
	}
	if reply := s.imported(ctx, t, other, lines); reply.Tasks != 4 || reply.ForeignIDs != 3 || reply.Rehashed != 0 || outcome(other) != "created" {
		t.Errorf("as they were: %+v", reply)
	}
	for again := range 2 {
		reply, err := s.ImportNamespace(ctx, api.ImportRequest{Name: rehashed, Body: bytes.NewReader(lines), Rehash: true})
		if err != nil || reply.Tasks != int64(4*(1-again)) || reply.ForeignIDs != 0 || reply.Rehashed != 3 || outcome(rehashed) != "existing" {
			t.Errorf("rehashed: %+v, %v", reply, err)
		}
	}
	for _, id := range []string{"given", deterministicID(rehashed, name, "2")} {
		if _, err := s.Task(ctx, rehashed, id, api.GetOptions{}); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	// If a blob of params is missing, only the line that needs it is refused.
	gone := regexp.MustCompile(`("id":"given".*?"params":)\{[^}]*\}`).ReplaceAll(lines, []byte(`$1{"blob":"sha256:`+strings.Repeat("0", 64)+`","size":7,"encoding":"json"}`))
	for i, rehash := range []bool{false, true} {
		reply, err := s.ImportNamespace(ctx, api.ImportRequest{Name: fmt.Sprint("apitest-params-gone", i), Body: bytes.NewReader(gone), Rehash: rehash})
		if err != nil || reply.Tasks != 3 || reply.Refused != 1 || len(reply.Refusals) != 1 || reply.Refusals[0].Code != api.CodeBlobGone {
			t.Errorf("params that are not there: %+v, %v", reply, err)
		}
	}
}

// importRefused: the error that ends an import names its line, and the lines before it were taken up. A line that is wrong by
// itself is reported, and the others are taken up.
func (s *suite) importRefused(ctx context.Context, t *testing.T) {
	const header = `{"header":{"format":1,"namespace":{"name":"x","status":"ACTIVE"}}}`
	task := func(id string) string {
		return fmt.Sprintf(`{"task":{"id":%q,"behavior":"apitest.imported","status":"CREATED","not_before":"2100-01-01T00:00:00.000Z","created_at":"2020-01-01T00:00:00.000Z","priority":4}}`, id)
	}
	join := func(lines ...string) string { return strings.Join(lines, "\n") }
	for i, c := range []struct{ what, code, field, text string }{
		{"nothing", "bad_archive", "line 1", ""},
		{"not JSON", "bad_archive", "line 1", "hello"},
		{"no header", "bad_archive", "line 1", task("one")},
		{"a form of the future", "bad_archive", "line 1", strings.Replace(header, `"format":1`, `"format":99`, 1)},
		{"torn", "bad_archive", "line 3", join(header, task("one")+"\n")},
		{"lines are missing", "bad_archive", "line 3", join(header, task("one"), `{"end":{"tasks":2}}`)},
		{"something follows", "bad_archive", "line 3", join(header, `{"end":{}}`, task("one"))},
		{"torn within a blob", "bad_archive", "line 3", join(header, `{"blob":"sha256:`+strings.Repeat("0", 64)+`"}`+"\n")},
		{"the export failed", "bad_archive", "line 2", join(header, `{"error":{"reason":"a disk"}}`)},
	} {
		name := fmt.Sprintf("apitest-bad%d", i)
		_, err := s.ImportNamespace(ctx, api.ImportRequest{Name: name, Body: strings.NewReader(c.text)})
		e, ok := errors.AsType[*api.Error](err)
		if !ok || e.Code != c.code || e.Field != c.field || !strings.Contains(e.Field+e.Detail, "line") {
			t.Errorf("%s: %+v, want code %s for field %q, and the line", c.what, err, c.code, c.field)
		}
		if strings.Contains(c.text, `"one"`) && c.code == "bad_archive" && c.field == "line 3" && c.what != "something follows" {
			if _, err := s.Task(ctx, name, "one", api.GetOptions{}); err != nil {
				t.Errorf("%s: the line before: %v", c.what, err)
			}
		}
	}
	gone := `"params":{"blob":"sha256:` + strings.Repeat("0", 64) + `","size":7,"encoding":"json"},"priority"`
	for i, c := range []struct {
		what, code, field, line string
		end                     string // the other counts of the line "end", besides two tasks
	}{
		{"an unknown kind", "bad_archive", "", `{"toast":{}}`, ""},
		{"two members", "bad_archive", "", `{"task":{},"record":{}}`, ""},
		{"an unknown field", "bad_archive", "task.colour", `{"task":{"colour":"red"}}`, "t"},
		{"a bad time", "bad_archive", "task.not_before", `{"task":{"not_before":"soon"}}`, "t"},
		{"a status that is none", "bad_archive", "task.status", `{"task":{"status":"DONE"}}`, "t"},
		{"other bytes", "bad_archive", "blob", `{"blob":"sha256:` + strings.Repeat("0", 64) + `"}` + "\n" + `{"bytes":{"data":"AAAA","last":true}}`, "b"},
		{"an ID that none can have", "invalid_command", "tasks", task("x"), "t"},
		{"a blob that is not there", "blob_gone", "tasks", strings.Replace(task("two"), `"priority"`, gone, 1), "t"},
	} {
		end := map[string]string{"": `{"end":{"tasks":2}}`, "t": `{"end":{"tasks":3}}`, "b": `{"end":{"tasks":2,"blobs":1}}`}[c.end]
		name := fmt.Sprintf("apitest-wrong%d", i)
		reply, err := s.ImportNamespace(ctx, api.ImportRequest{Name: name, Body: strings.NewReader(join(header, task("one"), c.line, task("three"), end))})
		if err != nil || reply.Tasks != 2 || reply.Refused != 1 || len(reply.Refusals) != 1 {
			t.Errorf("%s: %+v, %v", c.what, reply, err)
			continue
		}
		if bad := reply.Refusals[0]; bad.Line != 3 || bad.Code != c.code || bad.Field != c.field || bad.Detail == "" {
			t.Errorf("%s: %+v, want code %s for field %q in line 3", c.what, bad, c.code, c.field)
		}
		for _, id := range []string{"one", "three"} {
			if _, err := s.Task(ctx, name, id, api.GetOptions{}); err != nil {
				t.Errorf("%s: task %s: %v", c.what, id, err)
			}
		}
	}
}
