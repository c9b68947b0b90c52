package clustertest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/names"
)

// family is a guest that takes a while, submits what its params say, and ends as its params say.
func family(ctx context.Context, j *Job) (string, error) {
	var p struct {
		Children []string
		Fails    int64 // the number of attempts that fail
	}
	if j.Info.Behavior != "family" {
		return "1", nil
	}
	if err := json.Unmarshal(j.Raw, &p); err != nil {
		return "", err
	}
	j.Children = p.Children
	if err := j.Sleep(ctx, 300*time.Millisecond); err != nil {
		return "", err
	}
	if j.Info.Attempt <= p.Fails {
		return "", errOutOfFuel
	}
	return "1", nil
}

// pushFamilies pushes the behavior family and three behaviors of children. The ID of a kid is random, comes from its
// params, or is known to its caller.
func (c *Cluster) pushFamilies() {
	wasm, _, err := Guest("echo")
	if err != nil {
		c.t.Fatal(err)
	}
	c.PushWasm(0, "", wasm, []byte(`{"behaviors":[
		{"name":"family","on_exhausted":"retry","retry":{"max_attempts":3,"initial_interval":"1s"}},
		{"name":"kid","params_schema":{"type":["object","null"]}},{"name":"kid.params","id":{"strategy":"params"}},{"name":"kid.caller","id":{"strategy":"caller"}}]}`))
}

// families is a rule: the entry that makes a task of family a success makes all its children. Before it there are none.
func families(want map[string]int) func(uint64, map[task.Key]*task.Task) error {
	return func(index uint64, tasks map[task.Key]*task.Task) error {
		have := map[string]int{}
		for _, t := range tasks { // order-free: it counts
			if t.Parent != "" {
				have[t.Parent]++
			}
		}
		for _, t := range tasks { // order-free: any wrong task will do
			n := have[t.ID]
			if t.ID == "reruns" {
				continue
			}
			if t.Behavior == "family" && (t.Status == task.Success) != (n > 0) || t.Status == task.Success && t.Behavior == "family" && want[t.ID] != n {
				return fmt.Errorf("%s is %v in entry %d and has %d children, of %d", t.ID, t.Status, index, n, want[t.ID])
			}
		}
		return nil
	}
}

func submitFamily(c *Cluster, i int, id string, fails int, children ...string) {
	c.t.Helper()
	params, err := json.Marshal(map[string]any{"fails": fails, "children": children})
	if err != nil {
		c.t.Fatal(err)
	}
	c.SubmitRequest(i, api.SubmitRequest{Behavior: "family", ID: id, Params: params})
}

// TestChildren: a success happens together with its children, whoever names them. A failed attempt has no children.
func TestChildren(t *testing.T) {
	Run(t, 3, Options{NoWorkers: true, Guest: family, SessionTTL: ttl}, func(t *testing.T, c *Cluster) {
		c.pushFamilies()
		c.Audit.Rule(families(map[string]int{"plain": 3, "second": 1, "known": 2}))
		c.AddWorker("w1", 4)
		c.WorkersReady(1)
		submitFamily(c, 1, "plain", 0, `{"behavior":"kid"}`, `{"behavior":"kid"}`, `{"behavior":"kid.params","params":{"a":1},"labels":{"x":"y"},"priority":2}`)
		submitFamily(c, 2, "second", 2, `{"behavior":"kid"}`)
		c.Final(1, "plain") // the child known joins this task
		submitFamily(c, 0, "known", 0, `{"behavior":"kid","id":"kid-1"}`, `{"behavior":"kid","id":"kid-2","if_exists":"fail"}`,
			`{"behavior":"kid","id":"kid-1","params":{}}`, `{"behavior":"kid.params","params":{"a":1}}`)
		submitFamily(c, 0, "reruns", 0, `{"behavior":"kid"}`)
		c.Final(0, "reruns")
		c.SubmitRequest(1, api.SubmitRequest{Behavior: "family", ID: "reruns", IfExists: "rerun"})
		for _, id := range []string{"plain", "second", "known", "reruns"} {
			if done := c.Final(1, id); done.Status != "SUCCESS" {
				t.Errorf("%s", Show(done))
			}
		}
		ctx, stop := c.Context(patience)
		defer stop()
		named := names.OfParams("default", "kid.params", []byte(`{"a":1}`))
		for parent, want := range map[string]int{"plain": 3, "second": 1, "known": 2, "reruns": 2} {
			page, err := c.Node(2).Tasks(ctx, api.ListRequest{Parent: parent})
			if err != nil || len(page.Tasks) != want {
				t.Fatalf("%s: %+v, %v", parent, page, err)
			}
			for _, kid := range page.Tasks {
				done := c.Final(0, kid.ID)
				if done.Status != "SUCCESS" || done.Parent != parent || done.Behavior == "kid.params" && (done.ID != named || done.Labels["x"] != "y" || done.Priority != 2) {
					t.Errorf("%s: %s", parent, Show(done))
				}
			}
		}
		if kid := c.Final(2, "kid-1"); kid.Params != nil && string(kid.Params) != "null" {
			t.Errorf("the first of two wins: %s", kid.Params)
		}
	})
}

// TestChildrenRefused: if one child cannot be submitted, no child is, and the attempt is no success.
func TestChildrenRefused(t *testing.T) {
	Run(t, 3, Options{NoWorkers: true, Guest: family, SessionTTL: ttl}, func(t *testing.T, c *Cluster) {
		c.pushFamilies()
		c.Audit.Rule(families(map[string]int{"late": 1}))
		c.AddWorker("w1", 8)
		c.WorkersReady(1)
		taken := c.Submit(0, "kid.params", `{"x":1}`)
		want := map[string]string{}
		for i, x := range []struct{ child, naming string }{
			{`{"behavior":"nobody"}`, "nobody"},
			{`{"behavior":"kid.caller"}`, "children[1].id"},
			{`{"behavior":"kid","params":[]}`, "children[1].params"},
			{`{"behavior":"kid","id":"` + taken + `"}`, taken},
			{`{"behavior":"kid.params","id":"` + taken + `","if_exists":"fail"}`, taken},
			{`{"behavior":"kid","id":"bad-5"}`, "parent's own"},
			{`{"behavior":"kid","id":"x"}`, "children[1].id"},
			{`{"behavior":"kid","params":{"$blob":"sha256:` + strings.Repeat("0", 64) + `"}}`, "not stored"},
			{`{"behavior":"kid","namespace":"default"}`, "namespace"},
		} {
			id := fmt.Sprint("bad-", i)
			want[id] = x.naming
			submitFamily(c, i%3, id, 0, `{"behavior":"kid"}`, x.child)
		}
		submitFamily(c, 0, "bad-twins", 0, `{"behavior":"kid","id":"twin"}`, `{"behavior":"kid.params","id":"twin"}`)
		want["bad-twins"] = "another child"
		for id, naming := range want {
			done := c.Final(1, id)
			if done.Status != "FAILURE" || done.Error.Code != task.CodeChildRefused || !strings.Contains(done.Error.Message, naming) || done.Attempt != 3 {
				t.Errorf("%s: %s %+v, want %q named", id, Show(done), done.Error, naming)
			}
		}
		submitFamily(c, 0, "late", 0, `{"behavior":"late"}`) // it is retried, and by then the behavior is there
		c.Until(0, "late", "failure")
		wasm, _, err := Guest("echo")
		if err != nil {
			t.Fatal(err)
		}
		c.PushWasm(0, "", wasm, []byte(`{"behaviors":[{"name":"late"}]}`))
		if done := c.Final(0, "late"); done.Status != "SUCCESS" || done.Attempt != 2 {
			t.Errorf("%s", Show(done))
		}
	})
}

// TestChildrenThroughFaults: whatever happens to the leader and the worker around the finish, there is one success with
// its children, and there is no child without the success.
func TestChildrenThroughFaults(t *testing.T) {
	moments, apart := 40, 13*time.Millisecond // the attempt takes 300 ms
	if testing.Short() || raceDetector {
		moments, apart = 8, 67*time.Millisecond
	}
	faults := maps.Clone(leaderFaults)
	faults["kid deleted"] = func(c *Cluster, leader int) {
		ctx, cancel := c.Context(10 * time.Second)
		defer cancel()
		if err := c.Node(leader).DeleteBehavior(ctx, "", "kid", false); err != nil {
			c.t.Error(err)
		}
		leaderFaults["kill"](c, leader)
		c.pushFamilies()
	}
	for fault, happen := range faults {
		for i := range moments {
			at := 200*time.Millisecond + time.Duration(i)*apart
			t.Run(fmt.Sprintf("%s after %v", fault, at), func(t *testing.T) {
				t.Parallel()
				Run(t, 3, Options{NoWorkers: true, Guest: family, SessionTTL: ttl}, func(t *testing.T, c *Cluster) {
					childrenUnder(c, at, happen)
				})
			})
		}
	}
}

func childrenUnder(c *Cluster, at time.Duration, happen func(c *Cluster, leader int)) {
	c.pushFamilies()
	want := map[string]int{}
	for i := range 6 {
		want[fmt.Sprint("parent-", i)] = 3
	}
	c.Audit.Rule(families(want))
	c.AddWorker("w1", 3)
	c.AddWorker("w2", 3)
	c.WorkersReady(2)
	leader := c.Leader()
	through := c.Followers()[0]
	for id := range want {
		submitFamily(c, through, id, 0, `{"behavior":"kid"}`, `{"behavior":"kid"}`, `{"behavior":"kid","id":"`+id+`.kid"}`)
	}
	c.Sleep(at)
	happen(c, leader)
	for id := range want {
		if done := c.Final(through, id); done.Status != "SUCCESS" {
			c.t.Errorf("%s %+v", Show(done), done.Error)
		}
	}
	c.Agree()
}
