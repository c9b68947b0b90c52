package clustertest

import (
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
)

// TestChecksOfANodeThatIsBehind: a node has not heard of a new version yet. It neither refuses params that only the new
// version takes, nor stores params that the new version does not take (SPEC B2, W4).
func TestChecksOfANodeThatIsBehind(t *testing.T) {
	Run(t, 3, Options{NoWorkers: true}, func(t *testing.T, c *Cluster) {
		schema := func(name string) string {
			return `,"id":{"strategy":"params"},"params_schema":{"type":"object","required":["` + name + `"],"additionalProperties":false,"properties":{"` + name + `":{}}}`
		}
		leader := c.Leader()
		pushAs(c, leader, "echo", schema("old"))
		late := c.Followers()[0]
		known := c.SubmitRequest(late, api.SubmitRequest{Behavior: "job", ID: "known", Params: []byte(`{"old":1}`), Delay: new(api.Duration(time.Hour))}).Task
		c.Net.Delay(c.Members[leader].Addr, c.Members[late].Addr, 80*time.Millisecond)
		n := c.Node(late)
		// relapse makes the other params right again and lets n see it. Then it activates a version that n does not see
		// yet.
		relapse := func(names [2]string, description string) {
			v := pushAs(c, leader, "echo", schema(names[0]))
			if d, err := n.Behavior(t.Context(), "", "job"); err != nil || d.Version != v {
				t.Fatalf("%+v, %v", d, err)
			}
			pushAs(c, leader, "echo", schema(names[1])+`,"description":"`+description+`"`)
		}
		for round, names := range [][2]string{{"old", "new"}, {"new", "old"}} {
			pushAs(c, leader, "echo", schema(names[1]))
			was, is := []byte(`{"`+names[0]+`":1}`), []byte(`{"`+names[1]+`":1}`)
			at := time.Now()
			reply, err := n.Submit(t.Context(), api.SubmitRequest{Behavior: "job", Params: is})
			if err != nil {
				t.Errorf("round %d: what the new version takes: %v", round, err)
			} else if reply.Outcome != "created" && round == 0 {
				t.Errorf("outcome %s", reply.Outcome)
			}
			relapse(names, "again")
			if reply, err := n.Submit(t.Context(), api.SubmitRequest{Behavior: "job", Params: was}); api.CodeOf(err) != api.CodeParamsSchema {
				t.Errorf("round %d: what it does not take: %+v, %v", round, reply, err)
			}
			relapse(names, "and again")
			out, err := n.SubmitBatch(t.Context(), []api.SubmitRequest{
				{Behavior: "job", ID: "batch-a", Params: was}, {Behavior: "job", ID: "batch-b", Params: is}, {Behavior: "nosuch"},
			})
			if err != nil || out[0].Error == nil || out[2].Error == nil || api.CodeOf(out[0].Error) != api.CodeParamsSchema || out[1].Error != nil || api.CodeOf(out[2].Error) != api.CodeBehaviorNotFound {
				t.Errorf("round %d: batch: %+v, %v", round, out, err)
			}
			relapse(names, "and again and again")
			if reply, err := n.Resubmit(t.Context(), api.ResubmitRequest{ID: known.ID, Params: was}); api.CodeOf(err) != api.CodeParamsSchema {
				t.Errorf("round %d: resubmit: %+v, %v", round, reply, err)
			}
			if reply, err := n.Resubmit(t.Context(), api.ResubmitRequest{ID: known.ID, Params: is, Delay: new(api.Duration(time.Hour))}); err != nil || reply.Outcome != "updated" {
				t.Errorf("round %d: resubmit: %+v, %v", round, reply, err)
			}
			if time.Since(at) < 80*time.Millisecond {
				t.Error("nothing was late") // the test would show nothing
			}
		}
	})
}
