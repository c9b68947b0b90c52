package apitest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api"
)

// exportImport: what is live in a namespace goes into another one and is the same there (SPEC M5).
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
	// What runs becomes due: somebody else may take it.
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
	// Again: nothing is there twice, and what has changed stays as it is.
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

// sameTask compares all of a task but what belongs to its cluster.
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

// exportRaw: every stored record as it is; it is for looking at.
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

// importRefused: what is wrong is named by its line, and what came before it is there.
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
		{"an unknown kind", "bad_archive", "line 3", join(header, task("one"), `{"toast":{}}`)},
		{"two members", "bad_archive", "line 2", join(header, `{"task":{},"record":{}}`)},
		{"an unknown field", "bad_archive", "line 2, task.colour", join(header, `{"task":{"colour":"red"}}`)},
		{"a bad time", "bad_archive", "line 2, task.not_before", join(header, `{"task":{"not_before":"soon"}}`)},
		{"a status that is none", "bad_archive", "line 2, task.status", join(header, `{"task":{"status":"DONE"}}`)},
		{"torn", "bad_archive", "line 3", join(header, task("one")+"\n")},
		{"lines are missing", "bad_archive", "line 3", join(header, task("one"), `{"end":{"tasks":2}}`)},
		{"something follows", "bad_archive", "line 3", join(header, `{"end":{}}`, task("one"))},
		{"other bytes", "bad_archive", "blob", join(header, `{"blob":"sha256:`+strings.Repeat("0", 64)+`"}`, `{"bytes":{"data":"AAAA","last":true}}`)},
		{"torn within a blob", "bad_archive", "line 3", join(header, `{"blob":"sha256:`+strings.Repeat("0", 64)+`"}`+"\n")},
		{"an ID that none can have", "invalid_command", "tasks", join(header, task("x"), `{"end":{"tasks":1}}`)},
		{"a blob that is not there", "blob_gone", "tasks", join(header, strings.Replace(task("one"), `"priority"`,
			`"params":{"blob":"sha256:`+strings.Repeat("0", 64)+`","size":7,"encoding":"json"},"priority"`, 1), `{"end":{"tasks":1}}`)},
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
}
