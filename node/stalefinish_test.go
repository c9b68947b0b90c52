package node_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/internal/clustertest"
)

// TestFinishThroughANodeThatIsBehind: the progress that becomes the result came through another node. The node that
// gets the finish has not heard of it, and must not refuse the finish for that reason (SPEC J4).
func TestFinishThroughANodeThatIsBehind(t *testing.T) {
	clustertest.Run(t, 3, clustertest.Options{}, func(t *testing.T, c *clustertest.Cluster) {
		ctx, cancel := c.Context(5 * time.Minute)
		defer cancel()
		leader := c.Leader()
		behind, other := (leader+1)%3, (leader+2)%3
		policy := json.RawMessage(`{"kind":"external","lease":"10m","result":"required"}`)
		if _, err := c.Node(leader).PutBehavior(ctx, api.PutBehaviorRequest{Name: "ext.one", Policy: policy}); err != nil {
			t.Fatal(err)
		}
		c.Submit(leader, "ext.one", `1`)
		got, err := c.Node(behind).Accept(ctx, api.AcceptRequest{Behavior: "ext.one", Worker: "w", Wait: new(api.Duration(time.Minute))})
		if err != nil || len(got.Tasks) != 1 {
			t.Fatalf("%+v, %v", got, err)
		}
		x := got.Tasks[0]
		c.Net.Isolate(c.Members[behind].Addr)
		if _, err := c.Node(other).Heartbeat(ctx, api.HeartbeatRequest{ID: x.ID, Token: x.Lease.Token, Seq: 1, Progress: json.RawMessage(`7`)}); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, func() { c.Net.Rejoin(c.Members[behind].Addr) })
		r, err := c.Node(behind).Finish(ctx, api.FinishRequest{ID: x.ID, Token: x.Lease.Token, Seq: 2})
		if err != nil {
			t.Fatal(err)
		}
		if r.Task.Status != "SUCCESS" || string(r.Task.Result) != `7` {
			t.Errorf("%s", clustertest.Show(r.Task))
		}
	})
}
