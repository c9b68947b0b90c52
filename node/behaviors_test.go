package node_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/internal/clustertest"
)

const mailPolicy = `{"kind":"external","lease":"10s","retry":{"max_attempts":3},"max_concurrent":2,"concurrency_key":"/to",
	"params_schema":{"type":"object","required":["to"]},"limits":{"params_bytes":100}}`

func put(t *testing.T, c *clustertest.Cluster, i int, name, policy string) (*api.PutBehaviorReply, error) {
	t.Helper()
	c.Leader()
	return c.Node(i).PutBehavior(t.Context(), api.PutBehaviorRequest{Name: name, Policy: []byte(policy)})
}

// TestExternalBehaviorsLife: an external behavior is defined, changed, used and deleted (SPEC B7, B8, J1).
func TestExternalBehaviorsLife(t *testing.T) {
	clustertest.Run(t, 1, clustertest.Options{NoWorkers: true}, func(t *testing.T, c *clustertest.Cluster) {
		n, ctx := c.Node(0), t.Context()
		first, err := put(t, c, 0, "mail", mailPolicy)
		if err != nil || !first.Created || first.Behavior.Kind != "external" || first.Behavior.Module != "" {
			t.Fatalf("%+v, %v", first, err)
		}
		var shown map[string]any
		if err := json.Unmarshal(first.Behavior.Manifest, &shown); err != nil || shown["lease"] != "10s" || shown["on_trap"] != nil || shown["heartbeat_timeout"] != nil {
			t.Errorf("manifest %s, %v", first.Behavior.Manifest, err)
		}
		// The policy that is shown can be put. It means the same, but it spells out the defaults. So the first put makes
		// another version, and a second put makes none.
		again, err := put(t, c, 0, "mail", mailPolicy)
		if err != nil || again.Created || again.Behavior.Version != first.Behavior.Version || len(again.Behavior.Versions) != 1 {
			t.Errorf("the same again: %+v, %v", again, err)
		}
		second, err := put(t, c, 0, "mail", string(first.Behavior.Manifest))
		if err != nil || second.Created || second.Behavior.Version == first.Behavior.Version || len(second.Behavior.Versions) != 2 ||
			string(second.Behavior.Manifest) != string(first.Behavior.Manifest) {
			t.Errorf("what is shown: %+v, %v", second, err)
		}

		// A submit to an external behavior is checked like any other.
		_, err = n.Submit(ctx, api.SubmitRequest{Behavior: "mail", Params: []byte(`{}`)})
		wantError(t, err, 422, api.CodeParamsSchema, "params")
		_, err = n.Submit(ctx, api.SubmitRequest{Behavior: "mail", Params: []byte(fmt.Sprintf(`{"to":"%0100d"}`, 1))})
		wantError(t, err, 413, api.CodeTooLarge, "params")
		waiting := c.SubmitRequest(0, api.SubmitRequest{Behavior: "mail", Params: []byte(`{"to":"ann"}`)}).Task

		// One name has one kind.
		wasm, _, err := clustertest.Guest("echo")
		if err != nil {
			t.Fatal(err)
		}
		_, err = n.Push(ctx, api.PushRequest{Name: "mail", Wasm: bytes.NewReader(wasm), Size: int64(len(wasm))})
		wantError(t, err, 409, "other_kind", "behavior")
		c.Push(0, "echo")
		_, err = put(t, c, 0, "echo", mailPolicy)
		wantError(t, err, 409, "other_kind", "behavior")

		// Pause and list.
		if d, err := n.PauseBehavior(ctx, "", "mail", true); err != nil || !d.Paused {
			t.Errorf("%+v, %v", d, err)
		}
		if bs, err := n.Behaviors(ctx, ""); err != nil || len(bs) != 2 || bs[1].Name != "mail" || bs[1].Kind != "external" || !bs[1].Paused || bs[0].Paused {
			t.Errorf("%+v, %v", bs, err)
		}
		if d, err := n.PauseBehavior(ctx, "", "mail", false); err != nil || d.Paused {
			t.Errorf("%+v, %v", d, err)
		}

		// The behavior goes and comes back; its task waits meanwhile (SPEC B8, I5).
		if err := n.DeleteBehavior(ctx, "", "mail", false); err != nil {
			t.Fatal(err)
		}
		_, err = n.Behavior(ctx, "", "mail")
		wantError(t, err, 404, api.CodeBehaviorNotFound, "")
		_, err = n.Submit(ctx, api.SubmitRequest{Behavior: "mail", Params: []byte(`{"to":"ann"}`)})
		wantError(t, err, 404, api.CodeBehaviorNotFound, "behavior")
		wantError(t, n.DeleteBehavior(ctx, "", "mail", false), 404, api.CodeBehaviorNotFound, "behavior")
		if got := c.Wait(0, waiting.ID, api.GetOptions{}); got.Status != "CREATED" {
			t.Errorf("%s", clustertest.Show(got))
		}
		back, err := put(t, c, 0, "mail", mailPolicy)
		if err != nil || !back.Created {
			t.Errorf("%+v, %v", back, err)
		}
	})
}

// nobody is the name of a version that does not exist.
var nobody = strings.Repeat("0", 64)

func TestBehaviorRefusals(t *testing.T) {
	clustertest.Run(t, 1, clustertest.Options{NoWorkers: true}, func(t *testing.T, c *clustertest.Cluster) {
		n, ctx := c.Node(0), t.Context()
		for _, x := range []struct {
			name, policy string
			status       int
			code, field  string
		}{
			{"mail", `{}`, 400, api.CodeInvalidField, "kind"},
			{"mail", `{"kind":"wasm"}`, 400, api.CodeInvalidField, "kind"},
			{"mail", `{"kind":"external","lease":"2h"}`, 400, api.CodeInvalidField, "lease"},
			{"mail", `{"kind":"external","limits":{"fuel":1}}`, 400, api.CodeInvalidField, "limits.fuel"},
			{"mail", `{"kind":"external","leese":"2s"}`, 400, api.CodeInvalidField, "leese"},
			{"mail", `{"kind":"external","params_schema":{"type":"objekt"}}`, 400, api.CodeInvalidField, "params_schema"},
			{"mail", `{"kind":`, 400, api.CodeInvalidJSON, ""},
			{"No", `{"kind":"external"}`, 400, api.CodeInvalidField, "name"},
		} {
			_, err := put(t, c, 0, x.name, x.policy)
			wantError(t, err, x.status, x.code, x.field)
		}
		_, err := n.PutBehavior(ctx, api.PutBehaviorRequest{Namespace: "nowhere", Name: "mail", Policy: []byte(mailPolicy)})
		wantError(t, err, 404, "namespace_not_found", "namespace")
		_, err = n.ActivateVersion(ctx, "", "nosuch", nobody)
		wantError(t, err, 404, api.CodeBehaviorNotFound, "behavior")
		c.Push(0, "echo")
		_, err = n.ActivateVersion(ctx, "", "echo", nobody)
		wantError(t, err, 404, "version_not_found", "version")
		_, err = n.ActivateVersion(ctx, "", "echo", "")
		wantError(t, err, 400, api.CodeInvalidField, "version")
		_, err = n.PauseBehavior(ctx, "", "nosuch", true)
		wantError(t, err, 404, api.CodeBehaviorNotFound, "behavior")
	})
}

// TestDrain: the worker of a drained member gets nothing, through restarts and changes of the leader, until the member
// is undrained (SPEC L10).
func TestDrain(t *testing.T) {
	clustertest.Run(t, 3, clustertest.Options{SessionTTL: 3 * time.Second}, func(t *testing.T, c *clustertest.Cluster) {
		c.Push(0, "wait")
		c.WorkersReady(3)
		victim := c.Followers()[0]
		id := c.Members[victim].ID
		_, err := c.Node(0).Drain(t.Context(), "n9", true)
		wantError(t, err, 404, api.CodeMemberNotFound, "")
		for i := range c.Members {
			node, err := c.Node(i).Drain(t.Context(), id, true)
			if err != nil || node.ID != id || !node.Drained {
				t.Fatalf("%+v, %v", node, err)
			}
		}
		ran := func() map[string]int {
			by := map[string]int{}
			for i := range 24 {
				task := c.Final(i%3, c.Submit(i%3, "wait", `1`))
				by[task.History[len(task.History)-1].Node]++
			}
			return by
		}
		if by := ran(); by[id] > 0 {
			t.Errorf("%s was drained, and tasks ran on %v", id, by)
		}
		old := c.Leader()
		c.Kill(old)
		c.Leader(old)
		c.Start(old)
		c.WorkersReady(3)
		if by := ran(); by[id] > 0 {
			t.Errorf("after an election: %s was drained, and tasks ran on %v", id, by)
		}
		cluster, err := c.Node(victim).Cluster(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range cluster.Nodes {
			if n.Drained != (n.ID == id) {
				t.Errorf("%+v", n)
			}
		}
		if node, err := c.Node(old).Drain(t.Context(), id, false); err != nil || node.Drained {
			t.Errorf("%+v, %v", node, err)
		}
		var ids []string
		for i := range 12 {
			ids = append(ids, c.Submit(i%3, "wait", `2000`))
		}
		used := map[string]bool{}
		for _, task := range ids {
			history := c.Final(0, task).History // the task may have been given ahead to another worker, and have come back
			used[history[len(history)-1].Node] = true
		}
		if !used[id] {
			t.Errorf("undrained, and tasks ran on %v only", used)
		}
	})
}
