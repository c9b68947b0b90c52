package clustertest

import (
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

// TestWorkerSpeaksForOthers: a worker of its own making joins a cluster and reports the end of a task that another worker runs, with the
// right token. The report is not carried out, the stream ends, and the task ends by its own worker (SPEC A2).
func TestWorkerSpeaksForOthers(t *testing.T) {
	Run(t, 3, Options{SessionTTL: ttl, Intruders: true}, func(t *testing.T, c *Cluster) {
		c.Push(0, "wait")
		c.WorkersReady(3)
		id := c.Submit(0, "wait", "5000")
		c.Executing(id)
		leader := c.Node(c.Leader())
		var token uint64
		key := task.Key{Namespace: api.DefaultNamespace, ID: id}
		leader.Store().Local(func(m *task.Machine) { token = m.Task(key).Lease.Token })

		ctx, cancel := c.Context(patience)
		defer cancel()
		d := &dialer{c: c, net: c.Net.Node("intruder:1")}
		nc, err := d.Dial(ctx)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := stream.New(nc, stream.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		hello := &stream.Hello{Worker: "intruder", Slots: 1, Proof: []byte("p"), N: 1}
		if err := conn.Send(stream.Frame{Hello: hello}); err != nil {
			t.Fatal(err)
		}
		report := func(id, token uint64) stream.Frame {
			return stream.Frame{Reports: []stream.Report{{ID: id, Finish: &task.Finish{Key: key, Token: token, Seq: 99}}}}
		}
		for welcomed := false; !welcomed; {
			f, err := conn.Recv()
			if err != nil {
				t.Fatal(err)
			}
			welcomed = f.Welcome != nil
		}
		if err := conn.Send(report(1, 0)); err != nil { // nobody's: answered
			t.Fatal(err)
		}
		var acks []stream.Ack
		for {
			f, err := conn.Recv()
			if err != nil {
				break
			}
			if acks = append(acks, f.Acks...); len(f.Acks) > 0 {
				_ = conn.Send(report(2, token))
			}
		}
		if len(acks) != 1 || acks[0].ID != 1 || acks[0].Code != task.Halt || leader.Stats().StreamBreaches != 1 {
			t.Errorf("answered %+v; %d breaches", acks, leader.Stats().StreamBreaches)
		}
		if got := c.Final(0, id); got.Status != "SUCCESS" || got.Attempt != 1 {
			t.Errorf("the task ended as %s", Show(got))
		}
	})
}
