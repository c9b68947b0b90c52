package apitest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/cursor"
)

// submit: a behavior draws the ID of a task if the submit gives none (SPEC I1).
func (s *suite) submit(ctx context.Context, t *testing.T) {
	priority := 7
	created := s.must(ctx, t, api.SubmitRequest{
		Behavior: okBehavior, Params: json.RawMessage(`{ "a" : "<b> é" }`), Labels: map[string]string{"b": "2", "a": "1=1"}, Priority: &priority,
	})
	if created.ID == "" || created.Namespace != "default" || created.Behavior != okBehavior || created.Rev == 0 || created.CreatedAt.IsZero() {
		t.Errorf("created %+v", created)
	}
	if string(created.Params) != `{"a":"<b> é"}` {
		t.Errorf("params %s", created.Params)
	}
	done := s.final(ctx, t, created.ID)
	if done.Status != "SUCCESS" || string(done.Result) != "null" || done.Error != nil || done.Lease != nil || done.Attempt != 1 {
		t.Errorf("finished %+v with result %s", done, done.Result)
	}
	if done.FinishedAt == nil || done.StartedAt == nil || len(done.History) != 1 || done.History[0].Outcome != "SUCCESS" {
		t.Errorf("times and history %+v", done)
	}
	if fmt.Sprint(done.Labels) != "map[a:1=1 b:2]" || done.Priority != 7 || done.Rev <= created.Rev {
		t.Errorf("labels %v, priority %d, rev %d after %d", done.Labels, done.Priority, done.Rev, created.Rev)
	}
	got, err := s.Task(ctx, "default", created.ID, api.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := asJSON(t, got), asJSON(t, done); a != b {
		t.Errorf("get %s, want %s", a, b)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func (s *suite) ifExists(ctx context.Context, t *testing.T) {
	r := api.SubmitRequest{Behavior: okBehavior, ID: "if-exists", Params: json.RawMessage(`1`)}
	s.must(ctx, t, r)
	first := s.final(ctx, t, r.ID)
	for _, c := range []struct {
		ifExists, params, outcome string
	}{
		{"", `1`, "existing"},
		{"join", ` 1 `, "existing"},
		{"join", `2`, "existing_other_params"},
	} {
		r.IfExists, r.Params = c.ifExists, json.RawMessage(c.params)
		reply, err := s.Submit(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		if reply.Outcome != c.outcome || reply.Task.Rev != first.Rev || string(reply.Task.Params) != "1" {
			t.Errorf("%q with params %s: %s, %+v; want %s and nothing changed", c.ifExists, c.params, reply.Outcome, reply.Task, c.outcome)
		}
	}
	r.IfExists = "fail"
	_, err := s.Submit(ctx, r)
	wantError(t, err, "already_exists", fieldOf(err))
	_, err = s.Submit(ctx, api.SubmitRequest{Behavior: failBehavior, ID: r.ID})
	wantError(t, err, "other_behavior", fieldOf(err))

	r.IfExists, r.Params = "rerun", nil
	reply, err := s.Submit(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	if reply.Outcome != "updated" || reply.Task.Final {
		t.Errorf("rerun: %s, %+v", reply.Outcome, reply.Task)
	}
	if again := s.final(ctx, t, r.ID); again.Attempt != 2 || again.Status != "SUCCESS" {
		t.Errorf("after rerun %+v", again)
	}
	r.IfExists, r.Params = "resubmit", json.RawMessage(`3`)
	if reply, err = s.Submit(ctx, r); err != nil || reply.Outcome != "updated" {
		t.Fatalf("resubmit: %+v, %v", reply, err)
	}
	if again := s.final(ctx, t, r.ID); again.Attempt != 3 || string(again.Params) != "3" {
		t.Errorf("after resubmit %+v", again)
	}
}

// fieldOf returns the field of an error. It is for errors of the state machine, which need not name a field.
func fieldOf(err error) string {
	var e *api.Error
	if ok := asError(err, &e); ok {
		return e.Field
	}
	return ""
}

func (s *suite) deterministicID(ctx context.Context, t *testing.T) {
	one := s.must(ctx, t, api.SubmitRequest{Behavior: hashBehavior, Params: json.RawMessage(`{"x":1,"y":[true,null]}`)})
	reply, err := s.Submit(ctx, api.SubmitRequest{Behavior: hashBehavior, Params: json.RawMessage(`{ "y" : [true, null], "x" : 1 }`)})
	if err != nil {
		t.Fatal(err)
	}
	if reply.Task.ID != one.ID || reply.Outcome == "created" {
		t.Errorf("equal params: %s %s, want %s", reply.Outcome, reply.Task.ID, one.ID)
	}
	// By hand, SPEC I2 gives base32(SHA-256("default", "apitest.hash", `{"x":1,"y":[true,null]}`)[:20]).
	if want := deterministicID("default", hashBehavior, `{"x":1,"y":[true,null]}`); one.ID != want {
		t.Errorf("ID %s, want %s", one.ID, want)
	}
	if two := s.must(ctx, t, api.SubmitRequest{Behavior: hashBehavior}); two.ID != deterministicID("default", hashBehavior, `null`) {
		t.Errorf("ID without params %s", two.ID)
	}
}

func (s *suite) concurrentEqualSubmits(ctx context.Context, t *testing.T) {
	const n = 20
	outcomes := make([]string, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			reply, err := s.Submit(ctx, api.SubmitRequest{Behavior: hashBehavior, Params: json.RawMessage(`"concurrent"`)})
			if err != nil {
				outcomes[i] = err.Error()
				return
			}
			outcomes[i] = reply.Outcome
		})
	}
	wg.Wait()
	slices.Sort(outcomes)
	if want := append([]string{"created"}, slices.Repeat([]string{"existing"}, n-1)...); !slices.Equal(outcomes, want) {
		t.Errorf("outcomes %q, want one created and the rest existing", outcomes)
	}
	if done := s.final(ctx, t, deterministicID("default", hashBehavior, `"concurrent"`)); done.Attempt != 1 {
		t.Errorf("%d runs, want 1", done.Attempt)
	}
}

func (s *suite) submitRefused(ctx context.Context, t *testing.T) {
	now, delay, negative, eleven := api.Time{Time: time.Now()}, api.Duration(time.Second), api.Duration(-1), 11
	for _, c := range []struct {
		name, code, field string
		r                 api.SubmitRequest
	}{
		{"no behavior", "invalid_field", "behavior", api.SubmitRequest{}},
		{"bad behavior", "invalid_field", "behavior", api.SubmitRequest{Behavior: "No Such"}},
		{"unknown behavior", "behavior_not_found", "behavior", api.SubmitRequest{Behavior: "apitest.nobody"}},
		{"bad namespace", "invalid_field", "namespace", api.SubmitRequest{Behavior: okBehavior, Namespace: "a b"}},
		{"unknown namespace", "namespace_not_found", "namespace", api.SubmitRequest{Behavior: okBehavior, Namespace: "nowhere"}},
		{"short ID", "invalid_field", "id", api.SubmitRequest{Behavior: okBehavior, ID: "ab"}},
		{"long ID", "invalid_field", "id", api.SubmitRequest{Behavior: okBehavior, ID: strings.Repeat("a", 129)}},
		{"bad ID", "invalid_field", "id", api.SubmitRequest{Behavior: okBehavior, ID: "a/../b"}},
		{"both params", "invalid_field", "params_base64", api.SubmitRequest{Behavior: okBehavior, Params: json.RawMessage(`1`), ParamsBase64: []byte{1}}},
		{"params no JSON", "invalid_field", "params", api.SubmitRequest{Behavior: okBehavior, Params: json.RawMessage(`{`)}},
		{"bad if_exists", "invalid_field", "if_exists", api.SubmitRequest{Behavior: okBehavior, IfExists: "replace"}},
		{"both times", "invalid_field", "delay", api.SubmitRequest{Behavior: okBehavior, NotBefore: &now, Delay: &delay}},
		{"negative delay", "invalid_field", "delay", api.SubmitRequest{Behavior: okBehavior, Delay: &negative}},
		{"bad priority", "invalid_field", "priority", api.SubmitRequest{Behavior: okBehavior, Priority: &eleven}},
		{"bad label", "invalid_field", "labels", api.SubmitRequest{Behavior: okBehavior, Labels: map[string]string{"a=b": ""}}},
		{"long label", "too_large", "labels.a", api.SubmitRequest{Behavior: okBehavior, Labels: map[string]string{"a": strings.Repeat("x", 257)}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			reply, err := s.Submit(ctx, c.r)
			if err == nil {
				t.Fatalf("accepted: %+v", reply)
			}
			wantError(t, err, c.code, c.field)
		})
	}
	_, err := s.Submit(ctx, api.SubmitRequest{Behavior: "apitest.nobody", ID: "refused-one"})
	wantError(t, err, "behavior_not_found", "behavior")
	_, err = s.Task(ctx, "", "refused-one", api.GetOptions{})
	wantError(t, err, "task_not_found", "")
}

func (s *suite) batch(ctx context.Context, t *testing.T) {
	rs := []api.SubmitRequest{
		{Behavior: okBehavior, ID: "batch-0"},
		{Behavior: "apitest.nobody", ID: "batch-1"},
		{Behavior: okBehavior, ID: "x"},
		{Behavior: okBehavior, ID: "batch-0"},
		{Behavior: okBehavior, ID: "batch-4", Params: json.RawMessage(`{"n":4}`)},
		{Behavior: okBehavior, ID: "batch-4", Params: json.RawMessage(`{`)},
	}
	results, err := s.SubmitBatch(ctx, rs)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range results {
		if r.Error != nil {
			got = append(got, r.Error.Code+" "+r.Error.Field)
		} else {
			got = append(got, r.Outcome+" "+r.Task.ID)
		}
	}
	want := []string{"created batch-0", "behavior_not_found behavior", "invalid_field id", "existing batch-0", "created batch-4", "invalid_field params"}
	if !slices.Equal(got, want) {
		t.Errorf("results %q, want %q", got, want)
	}
	if done := s.final(ctx, t, "batch-4"); string(done.Params) != `{"n":4}` {
		t.Errorf("params %s", done.Params)
	}
	if results, err := s.SubmitBatch(ctx, nil); err != nil || len(results) != 0 {
		t.Errorf("empty batch: %v, %v", results, err)
	}
}

func (s *suite) batchTooLong(ctx context.Context, t *testing.T) {
	rs := make([]api.SubmitRequest, api.MaxBatch+1)
	for i := range rs {
		rs[i] = api.SubmitRequest{Behavior: okBehavior, ID: fmt.Sprintf("too-long-%d", i)}
	}
	_, err := s.SubmitBatch(ctx, rs)
	wantError(t, err, "too_large", "tasks")
	_, err = s.Task(ctx, "", "too-long-0", api.GetOptions{})
	wantError(t, err, "task_not_found", "")
}

func (s *suite) failure(ctx context.Context, t *testing.T) {
	created := s.must(ctx, t, api.SubmitRequest{Behavior: failBehavior})
	done := s.final(ctx, t, created.ID)
	if done.Status != "FAILURE" || done.Error == nil || done.Error.Code != "HANDLER_ERROR" || done.Result != nil || done.Failures != 1 {
		t.Errorf("failed %+v, error %+v", done, done.Error)
	}
}

func (s *suite) bytes(ctx context.Context, t *testing.T) {
	created := s.must(ctx, t, api.SubmitRequest{Behavior: okBehavior, ParamsBase64: []byte{0, 1, 255}})
	done := s.final(ctx, t, created.ID)
	if string(done.ParamsBase64) != "\x00\x01\xff" || done.Params != nil {
		t.Errorf("params %q and %s", done.ParamsBase64, done.Params)
	}
}

func (s *suite) list(ctx context.Context, t *testing.T) {
	want := make([]string, 7)
	hour := api.Duration(time.Hour)
	for i := range want {
		want[i] = fmt.Sprintf("list-%d", i)
		r := api.SubmitRequest{Behavior: okBehavior, ID: want[i], Labels: map[string]string{"suite": "list", "third": strconv.Itoa(i % 3)}}
		if i == 3 {
			r.Delay = &hour
		}
		s.must(ctx, t, r)
		if i != 3 {
			s.final(ctx, t, want[i])
		}
	}
	var got []string
	pages := 0
	for cursor := ""; ; pages++ {
		page, err := s.Tasks(ctx, api.ListRequest{Labels: []string{"suite=list"}, Limit: 3, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range page.Tasks {
			got = append(got, x.ID)
		}
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	if !slices.Equal(got, want) || pages < 2 {
		t.Errorf("%d pages of %q, want %q", pages+1, got, want)
	}
	page, err := s.Tasks(ctx, api.ListRequest{Labels: []string{"suite=list"}, Limit: 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []string{"zzz", "no cursor!", page.Cursor[1:], page.Cursor + "0", "1" + page.Cursor[1:], cursor.Operations.Text(1), cursor.Partitions.Text(1)} {
		_, err := s.Tasks(ctx, api.ListRequest{Cursor: c})
		wantError(t, err, "invalid_field", "cursor")
	}
}

// listFilters: what of the tasks of list each filter finds.
func (s *suite) listFilters(ctx context.Context, t *testing.T) {
	s.list(ctx, t)
	soon, later := time.Now(), time.Now().Add(2*time.Hour)
	for _, c := range []struct {
		name string
		r    api.ListRequest
		want int
	}{
		{"status", api.ListRequest{Labels: []string{"suite=list"}, Statuses: []string{"CREATED"}}, 1},
		{"two statuses", api.ListRequest{Labels: []string{"suite=list"}, Statuses: []string{"CREATED", "SUCCESS"}}, 7},
		{"two statuses without any", api.ListRequest{Labels: []string{"suite=list"}, Statuses: []string{"RUNNING", "FAILURE"}}, 0},
		{"two labels", api.ListRequest{Labels: []string{"suite=list", "third=0"}}, 3},
		{"two labels in another order", api.ListRequest{Labels: []string{"third=0", "suite=list"}}, 3},
		{"labels and statuses", api.ListRequest{Labels: []string{"suite=list", "third=0"}, Statuses: []string{"SUCCESS"}}, 2},
		{"two values of one label", api.ListRequest{Labels: []string{"third=0", "third=1"}}, 0},
		{"success", api.ListRequest{Labels: []string{"suite=list"}, Statuses: []string{"SUCCESS"}}, 6},
		{"behavior", api.ListRequest{Labels: []string{"suite=list"}, Behaviors: []string{failBehavior}}, 0},
		{"behaviors", api.ListRequest{Labels: []string{"suite=list"}, Behaviors: []string{failBehavior, okBehavior}}, 7},
		{"pattern", api.ListRequest{Labels: []string{"suite=list"}, Behaviors: []string{okBehavior[:3] + "*"}}, 7},
		{"final", api.ListRequest{Labels: []string{"suite=list"}, Final: new(true)}, 6},
		{"not final", api.ListRequest{Labels: []string{"suite=list"}, Final: new(false)}, 1},
		{"final of those that wait", api.ListRequest{Labels: []string{"suite=list"}, Statuses: []string{"CREATED"}, Final: new(true)}, 0},
		{"retrying", api.ListRequest{Labels: []string{"suite=list"}, Statuses: []string{"RETRYING"}}, 0},
		{"error", api.ListRequest{Labels: []string{"suite=list"}, Errors: []string{"NONE"}}, 0},
		{"worker", api.ListRequest{Labels: []string{"suite=list"}, Worker: "nobody"}, 0},
		{"node", api.ListRequest{Labels: []string{"suite=list"}, Node: "nowhere"}, 0},
		{"prefix", api.ListRequest{IDPrefix: "list-"}, 7},
		{"longer prefix", api.ListRequest{IDPrefix: "list-4"}, 1},
		{"created", api.ListRequest{Labels: []string{"suite=list"}, Created: api.TimeRange{To: &later}}, 7},
		{"created later", api.ListRequest{Labels: []string{"suite=list"}, Created: api.TimeRange{From: &later}}, 0},
		{"started", api.ListRequest{Labels: []string{"suite=list"}, Started: api.TimeRange{To: &later}}, 6},
		{"finished", api.ListRequest{Labels: []string{"suite=list"}, Finished: api.TimeRange{To: &later}, Desc: true}, 6},
		{"finished later", api.ListRequest{Labels: []string{"suite=list"}, Finished: api.TimeRange{From: &later}}, 0},
		{"due now", api.ListRequest{Labels: []string{"suite=list"}, DueBefore: &soon}, 0},
		{"due later", api.ListRequest{Labels: []string{"suite=list"}, DueBefore: &later}, 1},
		{"stale", api.ListRequest{Labels: []string{"suite=nobody"}, Stale: true}, 0},
		{"parent", api.ListRequest{Labels: []string{"suite=list"}, Parent: "nobody"}, 0},
	} {
		page, err := s.Tasks(ctx, c.r)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if len(page.Tasks) != c.want {
			t.Errorf("%s: %d tasks, want %d", c.name, len(page.Tasks), c.want)
		}
	}
}

// listOrders: pages of an order, and in the other direction, with how many there are.
func (s *suite) listOrders(ctx context.Context, t *testing.T) {
	const n = 5
	for i := range n {
		id := fmt.Sprintf("orders-%d", i)
		s.must(ctx, t, api.SubmitRequest{Behavior: okBehavior, ID: id, Labels: map[string]string{"suite": "orders"}})
		s.final(ctx, t, id)
	}
	past := time.Unix(1, 0)
	for name, r := range map[string]api.ListRequest{
		"created": {}, "started": {Started: api.TimeRange{From: &past}}, "finished": {Finished: api.TimeRange{From: &past}},
		"two ranges": {Started: api.TimeRange{From: &past}, Finished: api.TimeRange{From: &past}},
	} {
		for _, desc := range []bool{false, true} {
			r.Labels, r.Desc, r.Limit, r.Count, r.Cursor = []string{"suite=orders"}, desc, 2, true, ""
			var got []string
			for {
				page, err := s.Tasks(ctx, r)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if page.Count == nil || *page.Count != n || page.CountMore {
					t.Errorf("%s: it counts %v, %v", name, page.Count, page.CountMore)
				}
				if page.Examined < int64(len(page.Tasks)) {
					t.Errorf("%s: a page of %d has examined %d", name, len(page.Tasks), page.Examined)
				}
				for _, x := range page.Tasks {
					got = append(got, x.ID)
				}
				if r.Cursor = page.Cursor; r.Cursor == "" {
					break
				}
				other := r
				other.Desc = !desc
				_, err = s.Tasks(ctx, other)
				wantError(t, err, "invalid_field", "cursor")
			}
			if desc {
				slices.Reverse(got)
			}
			if !slices.Equal(got, []string{"orders-0", "orders-1", "orders-2", "orders-3", "orders-4"}) {
				t.Errorf("%s, desc %v: %q", name, desc, got)
			}
		}
	}
}

func (s *suite) listRefused(ctx context.Context, t *testing.T) {
	for field, r := range map[string]api.ListRequest{
		"status": {Statuses: []string{"CREATED", "DONE"}}, "limit": {Limit: api.MaxListLimit + 1}, "label": {Labels: []string{"suite=list", "nameonly"}}, "label ": {Labels: manyLabels(api.MaxLabels + 1)},
		"behavior": {Behaviors: manyLabels(65)}, "error": {Errors: []string{strings.Repeat("E", 257)}}, "id_prefix": {IDPrefix: strings.Repeat("i", 257)},
	} {
		_, err := s.Tasks(ctx, r)
		wantError(t, err, "invalid_field", strings.TrimSpace(field))
	}
	_, err := s.Tasks(ctx, api.ListRequest{Namespace: "nowhere"})
	wantError(t, err, "namespace_not_found", "namespace")
}

// manyLabels returns n different labels.
func manyLabels(n int) (labels []string) {
	for i := range n {
		labels = append(labels, "n="+strconv.Itoa(i))
	}
	return labels
}

func (s *suite) index(ctx context.Context, t *testing.T) {
	ctx1, meta := api.WithMeta(ctx)
	created := s.must(ctx1, t, api.SubmitRequest{Behavior: okBehavior})
	if meta.Index() == 0 {
		t.Error("a submit tells no index")
	}
	ctx2, meta2 := api.WithMeta(ctx)
	if _, err := s.Task(ctx2, "", created.ID, api.GetOptions{Stale: true, MinIndex: meta.Index()}); err != nil {
		t.Errorf("a stale read at the index of the submit: %v", err)
	}
	if meta2.Index() < meta.Index() {
		t.Errorf("read at index %d, want at least %d", meta2.Index(), meta.Index())
	}
}
