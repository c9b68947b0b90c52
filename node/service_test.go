package node_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/internal/clustertest"
)

// wantError checks code, status and field of an error.
func wantError(t *testing.T, err error, status int, code, field string) {
	t.Helper()
	e, ok := errors.AsType[*api.Error](err)
	if !ok {
		t.Fatalf("got %v, want %s", err, code)
	}
	if e.Status != status || e.Code != code || e.Field != field {
		t.Errorf("got %d %s field %q (%s), want %d %s field %q", e.Status, e.Code, e.Field, e.Detail, status, code, field)
	}
}

const echoManifest = `{"schema":1,"behaviors":[{"name":"echo","id":{"strategy":"params"},"limits":{"params_bytes":100},
	"params_schema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}]}`

func TestSubmitRefusals(t *testing.T) {
	clustertest.Run(t, 1, clustertest.Options{}, func(t *testing.T, c *clustertest.Cluster) {
		wasm, _, err := clustertest.Guest("echo")
		if err != nil {
			t.Fatal(err)
		}
		c.PushWasm(0, "", wasm, []byte(echoManifest))
		for _, x := range []struct {
			name   string
			r      api.SubmitRequest
			status int
			code   string
			field  string
		}{
			{"no behavior", api.SubmitRequest{}, 400, api.CodeInvalidField, "behavior"},
			{"unknown behavior", api.SubmitRequest{Behavior: "nothing"}, 404, api.CodeBehaviorNotFound, "behavior"},
			{"unknown namespace", api.SubmitRequest{Behavior: "echo", Namespace: "other"}, 404, "namespace_not_found", "namespace"},
			{"bad ID", api.SubmitRequest{Behavior: "echo", ID: "a b"}, 400, api.CodeInvalidField, "id"},
			{"schema: wrong type", api.SubmitRequest{Behavior: "echo", Params: []byte(`{"n":"x"}`)}, 422, api.CodeParamsSchema, "params.n"},
			{"schema: missing", api.SubmitRequest{Behavior: "echo"}, 422, api.CodeParamsSchema, "params"},
			{"schema: bytes", api.SubmitRequest{Behavior: "echo", ParamsBase64: []byte("x")}, 422, api.CodeParamsSchema, "params_base64"},
			{"duplicate key", api.SubmitRequest{Behavior: "echo", Params: []byte(`{"n":1,"n":2}`)}, 422, api.CodeInvalidParams, "params"},
			{"behavior's limit", api.SubmitRequest{Behavior: "echo", Params: []byte(`{"n":1,"x":"` + strings.Repeat("x", 100) + `"}`)}, 413, api.CodeTooLarge, "params"},
			{"limit of payloads", api.SubmitRequest{Behavior: "echo", ParamsBase64: make([]byte, api.MaxPayload+1)}, 413, api.CodeTooLarge, "params_base64"},
		} {
			t.Log(x.name)
			_, err := c.Node(0).Submit(t.Context(), x.r)
			wantError(t, err, x.status, x.code, x.field)
		}
		_, err = c.Node(0).Tasks(t.Context(), api.ListRequest{Cursor: "no cursor!"})
		wantError(t, err, 400, api.CodeInvalidField, "cursor")
		l, err := c.Node(0).Tasks(t.Context(), api.ListRequest{})
		if err != nil || len(l.Tasks) > 0 {
			t.Errorf("something was stored: %v, %v", l, err)
		}
	})
}

// TestListsSeeWhatWasAcknowledged: a list at one node has what another node has acknowledged, at once (SPEC Q1, W4), also after a restart.
func TestListsSeeWhatWasAcknowledged(t *testing.T) {
	clustertest.Run(t, 3, clustertest.Options{NoWorkers: true}, func(t *testing.T, c *clustertest.Cluster) {
		if _, err := put(t, c, 0, "mail", `{"kind":"external"}`); err != nil {
			t.Fatal(err)
		}
		const n = 60
		for i := range n {
			id := fmt.Sprintf("listed-%02d", i)
			if _, err := c.Node(i%3).Submit(t.Context(), api.SubmitRequest{Behavior: "mail", ID: id}); err != nil {
				t.Fatal(err)
			}
			one, err := c.Node((i+1)%3).Tasks(t.Context(), api.ListRequest{IDPrefix: id, Statuses: []string{"CREATED"}, Count: true})
			if err != nil || len(one.Tasks) != 1 || *one.Count != 1 {
				t.Fatalf("%s: %+v, %v", id, one, err)
			}
			if i%2 == 0 {
				continue
			}
			if _, err := c.Node((i+1)%3).Cancel(t.Context(), "", id); err != nil {
				t.Fatal(err)
			}
			gone, err := c.Node((i+2)%3).Tasks(t.Context(), api.ListRequest{IDPrefix: id, Statuses: []string{"DEAD"}, Errors: []string{"CANCELLED"}})
			if err != nil || len(gone.Tasks) != 1 {
				t.Fatalf("%s was cancelled: %+v, %v", id, gone, err)
			}
		}
		c.Kill(1)
		c.Start(1)
		all, err := c.Node(1).Tasks(t.Context(), api.ListRequest{Behaviors: []string{"mail"}, Limit: 1000, Desc: true})
		if err != nil || len(all.Tasks) != n || all.Tasks[0].ID != "listed-59" {
			t.Errorf("after a restart: %d tasks, %v", len(all.Tasks), err)
		}
	})
}

// TestSameParams: params of the same meaning are the same, however they are written, wherever their bytes are, and
// whichever way they come (SPEC I3). A rerun and a resubmit take the params that they are given.
func TestSameParams(t *testing.T) {
	clustertest.Run(t, 1, clustertest.Options{NoWorkers: true}, func(t *testing.T, c *clustertest.Cluster) {
		c.Push(0, "echo")
		long := strings.Repeat("x", api.MaxInline)
		first := `{"a":1,"b":{"c":[1,2],"d":"é"},"long":"` + long + `"}`
		submit := func(id, params string) api.SubmitRequest {
			return api.SubmitRequest{ID: id, Behavior: "echo", Params: []byte(params)}
		}
		for i, x := range []struct{ was, is, outcome string }{
			{`{"a":1,"b":2}`, `{"b":2,"a":1}`, "existing"},
			{`{"a":1.0,"s":"\u00e9"}`, ` { "s" : "é", "a" : 1 }`, "existing"},
			{`{"a":1,"b":2}`, `{"b":2,"a":2}`, "existing_other_params"},
			{first, `{"long":"` + long + `","b":{"d":"\u00e9","c":[1.0,2]},"a":1}`, "existing"},
			{first, `{"long":"` + long + `","b":{"d":"e","c":[1,2]},"a":1}`, "existing_other_params"},
			{`{"n":18446744073709551616}`, `{"n": 18446744073709551616}`, "existing"},
			{`{"n":1e400}`, `{"n":10e399}`, "existing_other_params"}, // JavaScript has no such number, so only the bytes count
		} {
			id := "task-" + strconv.Itoa(i)
			if _, err := c.Node(0).Submit(t.Context(), submit(id, x.was)); err != nil {
				t.Fatal(err)
			}
			one, err := c.Node(0).Submit(t.Context(), submit(id, x.is))
			if err != nil || one.Outcome != x.outcome {
				t.Errorf("%.40s after %.40s: %v, %v", x.is, x.was, one, err)
			}
			many, err := c.Node(0).SubmitBatch(t.Context(), []api.SubmitRequest{submit(id, x.is)})
			if err != nil || many[0].SubmitReply == nil || many[0].Outcome != x.outcome {
				t.Errorf("in a batch: %v, %v", many, err)
			}
		}
		for i, text := range []string{`{"a":1}`, first} { // bytes stay bytes, even when they are JSON
			r := api.SubmitRequest{ID: "bytes-" + strconv.Itoa(i), Behavior: "echo", ParamsBase64: []byte(text)}
			if _, err := c.Node(0).Submit(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			if got, err := c.Node(0).Submit(t.Context(), submit(r.ID, text)); err != nil || got.Outcome != "existing_other_params" {
				t.Errorf("JSON after %d bytes: %v, %v", len(text), got, err)
			}
		}
		nine, later := 9, time.Now().Add(time.Hour)
		again := submit("task-0", `{"n":1}`)
		again.IfExists, again.Labels, again.Priority, again.NotBefore = "resubmit", map[string]string{"team": "red"}, &nine, api.TimeOrNil(later.UnixMilli())
		got, err := c.Node(0).Submit(t.Context(), again)
		if err != nil || got.Outcome != "updated" || got.Task.Labels["team"] != "red" || got.Task.Priority != 9 || string(got.Task.Params) != `{"n":1}` {
			t.Errorf("resubmitted: %+v, %v", got, err)
		}
	})
}

func TestBatchAnswersInOrder(t *testing.T) {
	clustertest.Run(t, 1, clustertest.Options{NoWorkers: true}, func(t *testing.T, c *clustertest.Cluster) {
		c.Push(0, "echo")
		var rs []api.SubmitRequest
		for i := range 1500 { // one log entry holds fewer
			rs = append(rs, api.SubmitRequest{Behavior: "echo", ID: "task-" + string(rune('a'+i%26)) + strings.Repeat("x", i/26)})
		}
		rs[7].Behavior = "nothing"
		rs[9].ID = rs[8].ID
		out, err := c.Node(0).SubmitBatch(t.Context(), rs)
		if err != nil || len(out) != len(rs) {
			t.Fatalf("%d answers, %v", len(out), err)
		}
		for i, o := range out {
			switch {
			case i == 7:
				wantError(t, o.Error, 404, api.CodeBehaviorNotFound, "behavior")
			case o.Error != nil || o.Task.ID != rs[i].ID:
				t.Fatalf("answer %d: %+v", i, o)
			case o.Outcome != "created" && i != 9, i == 9 && o.Outcome != "existing":
				t.Errorf("answer %d: %s", i, o.Outcome)
			}
		}
		_, err = c.Node(0).SubmitBatch(t.Context(), make([]api.SubmitRequest, api.MaxBatch+1))
		wantError(t, err, 413, api.CodeTooLarge, "tasks")
	})
}

func TestEqualSubmitsThroughAllNodesAreOneTask(t *testing.T) {
	clustertest.Run(t, 3, clustertest.Options{}, func(t *testing.T, c *clustertest.Cluster) {
		wasm, _, err := clustertest.Guest("echo")
		if err != nil {
			t.Fatal(err)
		}
		c.PushWasm(0, "", wasm, []byte(echoManifest))
		c.WorkersReady(3)
		var mu sync.Mutex
		outcomes := map[string]int{}
		ids := map[string]bool{}
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				r, err := c.Node(i%3).Submit(t.Context(), api.SubmitRequest{Behavior: "echo", Params: []byte(`{ "n": 1 }`)})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				outcomes[r.Outcome]++
				ids[r.Task.ID] = true
			})
		}
		wg.Wait()
		if len(ids) != 1 || outcomes["created"] != 1 || outcomes["existing"] != 19 {
			t.Fatalf("IDs %v, outcomes %v", ids, outcomes)
		}
		for id := range ids {
			if got := c.Final(2, id); got.Status != "SUCCESS" {
				t.Errorf("%s", clustertest.Show(got))
			}
			if es := c.Runs.Of(id); len(es) != 1 {
				t.Errorf("runs: %v", es)
			}
		}
	})
}

func TestPushAndBehaviors(t *testing.T) {
	clustertest.Run(t, 3, clustertest.Options{}, func(t *testing.T, c *clustertest.Cluster) {
		wasm, _, err := clustertest.Guest("echo")
		if err != nil {
			t.Fatal(err)
		}
		ctx := t.Context()
		c.Leader()
		for name, x := range map[string]struct {
			r     api.PushRequest
			code  string
			field string
		}{
			"not wasm":     {r: api.PushRequest{Name: "bad", Wasm: strings.NewReader("hello, world"), Size: -1}, code: "not_wasm"},
			"truncated":    {r: api.PushRequest{Name: "bad", Wasm: bytes.NewReader(wasm[:len(wasm)/2]), Size: -1}},
			"bad manifest": {r: api.PushRequest{Manifest: []byte(`{"schema":1,"behaviors":[{"name":"echo","nope":1}]}`), Wasm: bytes.NewReader(wasm)}, code: "bad_manifest"},
			"bad schema": {r: api.PushRequest{
				Manifest: []byte(`{"schema":1,"behaviors":[{"name":"echo","params_schema":{"$ref":"http://example.com/s.json"}}]}`),
				Wasm:     bytes.NewReader(wasm),
			}, code: "bad_manifest"},
		} {
			_, err := c.Node(0).Push(ctx, x.r)
			if e, ok := errors.AsType[*api.Error](err); !ok || e.Status != 422 || x.code != "" && e.Code != x.code {
				t.Errorf("%s: got %v", name, err)
			}
		}
		_, err = c.Node(0).Push(ctx, api.PushRequest{Name: "big", Wasm: bytes.NewReader(make([]byte, api.MaxModule+1)), Size: -1})
		wantError(t, err, 413, api.CodeTooLarge, "wasm")
		if bs, err := c.Node(1).Behaviors(ctx, ""); err != nil || len(bs) != 0 {
			t.Fatalf("something was stored: %v, %v", bs, err)
		}

		first := c.PushWasm(0, "echo", wasm, nil)
		second := c.PushWasm(1, "", wasm, []byte(echoManifest))
		again := c.PushWasm(2, "", wasm, []byte(echoManifest))
		if first.Version == second.Version || second.Version != again.Version || first.Digest != second.Digest {
			t.Errorf("versions %s %s %s", first.Version, second.Version, again.Version)
		}
		b, err := c.Node(2).Behavior(ctx, "", "echo")
		if err != nil {
			t.Fatal(err)
		}
		if b.Version != second.Version || b.Kind != "wasm" || len(b.Versions) != 2 || b.Versions[0].Version != second.Version {
			t.Errorf("%+v", b)
		}
		var manifest struct {
			ID     struct{ Strategy string }
			Limits map[string]int64
			Retry  map[string]any
		}
		if err := json.Unmarshal(b.Manifest, &manifest); err != nil {
			t.Fatal(err)
		}
		if manifest.ID.Strategy != "params" || manifest.Limits["params_bytes"] != 100 || manifest.Limits["memory_bytes"] == 0 || manifest.Retry["max_interval"] != "1h0m0s" {
			t.Errorf("manifest with defaults: %s", b.Manifest)
		}
		ms, err := c.Node(1).Modules(ctx, "")
		if err != nil || len(ms) != 1 || ms[0].Digest != first.Digest || len(ms[0].Behaviors) != 2 {
			t.Errorf("%+v, %v", ms, err)
		}
		_, err = c.Node(1).Module(ctx, "", strings.Repeat("0", 64))
		wantError(t, err, 404, api.CodeModuleNotFound, "")
		_, err = c.Node(1).Behavior(ctx, "", "nothing")
		wantError(t, err, 404, api.CodeBehaviorNotFound, "")
	})
}

func TestClusterShowsDeadMembersAndLogsAreGathered(t *testing.T) {
	clustertest.Run(t, 3, clustertest.Options{}, func(t *testing.T, c *clustertest.Cluster) {
		c.Push(0, "trap")
		c.WorkersReady(3)
		leader := c.Leader()
		dead := c.Followers()[0]
		ask := c.Followers()[1]
		c.Kill(dead)
		cl, err := c.Node(ask).Cluster(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if cl.Leader != c.Members[leader].ID || len(cl.Nodes) != 3 || len(cl.Workers) != 3 {
			t.Fatalf("%+v", cl)
		}
		for i, n := range cl.Nodes {
			m := c.Members[i]
			want := "follower"
			switch i {
			case leader:
				want = "leader"
			case dead:
				want = "unreachable"
			}
			if n.ID != m.ID || n.Role != want || n.Reachable != (i != dead) || n.Raft != m.Addr || n.HTTP != "http://"+m.ID {
				t.Errorf("%+v, want role %s", n, want)
			}
		}
		if err := c.Node(ask).Ready(t.Context()); err != nil {
			t.Errorf("ready: %v", err)
		}
		c.Start(dead)
		c.Eventually("the restarted node is ready", func() bool { return c.Node(dead).Ready(t.Context()) == nil })
	})
}

func TestNodeWithoutQuorumIsNotReadyAndSaysSo(t *testing.T) {
	clustertest.Run(t, 3, clustertest.Options{}, func(t *testing.T, c *clustertest.Cluster) {
		c.Push(0, "echo")
		f := c.Followers()[0]
		c.Net.Isolate(c.Members[f].Addr)
		c.Sleep(10 * time.Second)
		wantError(t, c.Node(f).Ready(t.Context()), 503, api.CodeNotReady, "")
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := c.Node(f).Submit(ctx, api.SubmitRequest{Behavior: "echo"})
		if code := api.CodeOf(err); !slices.Contains([]string{api.CodeNoLeader, api.CodeOutcomeUnknown}, code) {
			t.Errorf("submit: %v", err)
		}
		began := time.Now()
		_, err = c.Node(f).Cancel(t.Context(), "", "some-id") // this client would wait for ever
		if code := api.CodeOf(err); !slices.Contains([]string{api.CodeNoLeader, api.CodeOutcomeUnknown}, code) || time.Since(began) > time.Minute {
			t.Errorf("cancel: %v after %v", err, time.Since(began))
		}
		_, err = c.Node(f).Task(t.Context(), "", "some-id", api.GetOptions{})
		wantError(t, err, 503, api.CodeNoLeader, "")
		_, err = c.Node(f).Task(t.Context(), "", "some-id", api.GetOptions{Stale: true})
		wantError(t, err, 404, api.CodeTaskNotFound, "")
	})
}

func TestLogsAreGatheredFromWhereTheyLie(t *testing.T) {
	clustertest.Run(t, 3, clustertest.Options{}, func(t *testing.T, c *clustertest.Cluster) {
		c.Push(0, "conformance-wat")
		id := c.SubmitRequest(0, api.SubmitRequest{Behavior: "conformance-wat", ParamsBase64: []byte("log")}).Task.ID
		c.Final(0, id)
		for i := range 3 {
			var l *api.LogsReply
			c.Eventually("the log is there", func() bool {
				var err error
				if l, err = c.Node(i).Logs(t.Context(), "", id, api.LogsGet{}); err != nil {
					t.Fatal(err)
				}
				return len(l.Attempts) == 1 && strings.Contains(l.Attempts[0].Text, "an error")
			})
			if n := strings.Count(l.Attempts[0].Text, "a debug"); n != 1 || l.Attempts[0].Attempt != 1 {
				t.Errorf("%+v", l)
			}
			a := l.Attempts[0]
			half := api.LogsGet{FromToken: a.Token, FromOffset: a.End - 10}
			if rest, err := c.Node(i).Logs(t.Context(), "", id, half); err != nil || len(rest.Attempts) != 1 || rest.Attempts[0].Text != a.Text[len(a.Text)-10:] || rest.Attempts[0].End != a.End {
				t.Errorf("from %+v: %+v, %v", half, rest, err)
			}
		}
		if err := c.Node(1).Remove(t.Context(), "", id); err != nil {
			t.Fatal(err)
		}
		_, err := c.Node(1).Logs(t.Context(), "", id, api.LogsGet{})
		wantError(t, err, 404, api.CodeTaskNotFound, "")
	})
}
