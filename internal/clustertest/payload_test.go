package clustertest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/blob"
	"github.com/taskrt/taskrt/node"
	"github.com/taskrt/taskrt/node/maintain"
)

// text returns JSON of n bytes or a few less.
func text(of string, n int) json.RawMessage {
	return json.RawMessage(`"` + strings.Repeat(of, (n-2)/len(of)) + `"`)
}

func refTo(content []byte) string { return string(api.BlobRef(blob.Digest(content))) }

// putBlob stores content through member i.
func (c *Cluster) putBlob(i int, content []byte) {
	c.t.Helper()
	ctx, cancel := c.Context(patience)
	defer cancel()
	if _, err := c.Node(i).PutBlob(ctx, api.PutBlobRequest{Body: bytes.NewReader(content), Size: int64(len(content))}); err != nil {
		c.t.Fatalf("put %d bytes through n%d: %v", len(content), i+1, err)
	}
}

// wantBlob demands that member i has the content that a task shows as a reference.
func (c *Cluster) wantBlob(i int, shown json.RawMessage, content []byte) {
	c.t.Helper()
	if string(shown) != refTo(content) {
		c.t.Fatalf("shown as %.100s, want a reference to %.10s", shown, blob.Digest(content))
	}
	if err := c.readBlob(i, content); err != nil {
		c.t.Errorf("n%d, a blob of %d bytes: %v", i+1, len(content), err)
	}
}

// refs returns how many records need the content.
func (c *Cluster) refs(content []byte) int64 {
	c.t.Helper()
	ctx, cancel := c.Context(patience)
	defer cancel()
	b, err := c.Node(c.Leader()).Blob(ctx, blob.Digest(content))
	if err != nil {
		c.t.Fatal(err)
	}
	return b.Refs
}

// TestLargeParamsAndResults: params that are too long for the log come through a follower. They become a blob, and the
// guest gets their bytes. Its result goes the same way. Equal params make one task however they were sent. Nothing is
// kept when the task is gone.
func TestLargeParamsAndResults(t *testing.T) {
	Run(t, 3, Options{}, func(t *testing.T, c *Cluster) {
		c.Push(0, "echo")
		manifest := []byte(`{"schema":1,"behaviors":[{"name":"same","id":{"strategy":"params"}}]}`)
		wasm, _, err := Guest("echo")
		if err != nil {
			t.Fatal(err)
		}
		c.PushWasm(0, "", wasm, manifest)
		follower := c.Followers()[0]
		params := text("x", 100<<10)
		first := c.SubmitRequest(follower, api.SubmitRequest{Behavior: "same", Params: params})
		c.wantBlob(follower, first.Task.Params, params)
		done := c.Final(follower, first.Task.ID)
		if done.Status != "SUCCESS" {
			t.Fatalf("%s", Show(done))
		}
		for i := range c.Members {
			c.wantBlob(i, done.Result, params)
		}
		if n := c.refs(params); n != 2 { // the params and the result need it
			t.Errorf("%d references", n)
		}
		spaced := append([]byte("  "), params...)
		c.putBlob(c.Followers()[1], spaced)
		for name, r := range map[string]api.SubmitRequest{
			"the same":       {Behavior: "same", Params: params},
			"by reference":   {Behavior: "same", Params: json.RawMessage(refTo(params))},
			"another's text": {Behavior: "same", Params: json.RawMessage(refTo(spaced))},
		} {
			if again := c.SubmitRequest(c.Leader(), r); again.Task.ID != first.Task.ID || again.Outcome == "created" {
				t.Errorf("%s: %s is %s, not %s", name, again.Task.ID, again.Outcome, first.Task.ID)
			}
		}
		ctx, cancel := c.Context(patience)
		defer cancel()
		if err := c.Node(follower).Remove(ctx, "", first.Task.ID); err != nil {
			t.Fatal(err)
		}
		if n := c.refs(params); n != 0 {
			t.Errorf("%d references when the task is gone", n)
		}
	})
}

// TestLargestParamsAndResults: params that do not fit into their guest are read piece by piece. Other params, and a
// result, have the largest size.
func TestLargestParamsAndResults(t *testing.T) {
	Run(t, 3, Options{}, func(t *testing.T, c *Cluster) {
		wasm, _, err := Guest("conformance-wat")
		if err != nil {
			t.Fatal(err)
		}
		c.PushWasm(0, "", wasm, []byte(`{"schema":1,"behaviors":[{"name":"small","limits":{"memory_bytes":262144}},{"name":"large"}]}`))
		params := []byte("pieces " + strings.Repeat("0123456789abcdef", (1<<20)/16))
		c.putBlob(0, params)
		got := c.Final(1, c.Submit(1, "small", refTo(params)))
		sum := uint32(0)
		for _, b := range params {
			sum += uint32(b)
		}
		if want := fmt.Sprint(len(params), " ", sum); string(got.ResultBase64) != want {
			t.Errorf("%s, want %s", Show(got), want)
		}

		largest := append([]byte("empty "), make([]byte, 16<<20-6)...)
		c.putBlob(1, largest)
		if got := c.Final(2, c.Submit(2, "large", refTo(largest))); got.Status != "SUCCESS" {
			t.Errorf("%s", Show(got))
		}

		result := bytes.Repeat([]byte("x"), 16<<20)
		fill := c.SubmitRequest(2, api.SubmitRequest{Behavior: "large", ParamsBase64: fmt.Append(nil, "fill ", len(result))})
		c.wantBlob(0, c.Final(0, fill.Task.ID).Result, result)
		over := c.SubmitRequest(2, api.SubmitRequest{Behavior: "large", ParamsBase64: fmt.Append(nil, "fill ", len(result)+1)})
		if got := c.Final(0, over.Task.ID); got.Error == nil || got.Error.Code != "too_big" {
			t.Errorf("a byte more: %s", Show(got))
		}
	})
}

func wantRefusal(t *testing.T, err error, code, field string, limit int64) {
	t.Helper()
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Code != code || e.Field != field || e.Limit != limit {
		t.Errorf("refused with %+v (%v), want %s of %s, limit %d", e, err, code, field, limit)
	}
}

func TestPayloadRefusals(t *testing.T) {
	Run(t, 3, Options{NoWorkers: true}, func(t *testing.T, c *Cluster) {
		wasm, _, err := Guest("echo")
		if err != nil {
			t.Fatal(err)
		}
		c.PushWasm(0, "", wasm, []byte(`{"schema":1,"behaviors":[{"name":"any"},
			{"name":"little","limits":{"params_bytes":1000}},{"name":"strict","params_schema":{"type":"object"}}]}`))
		ctx, cancel := c.Context(patience)
		defer cancel()
		big, huge := []byte(text("y", 70_000)), make([]byte, api.MaxPayload+1)
		c.putBlob(0, big)
		c.putBlob(0, huge)
		unknown := []byte("nobody has it")
		for name, x := range map[string]struct {
			r     api.SubmitRequest
			code  string
			field string
			limit int64
		}{
			"unknown blob":         {api.SubmitRequest{Behavior: "any", Params: json.RawMessage(refTo(unknown))}, "blob_gone", "params", 0},
			"names an unknown":     {api.SubmitRequest{Behavior: "any", Params: json.RawMessage(`{"a":[` + refTo(unknown) + `]}`)}, "blob_gone", "params", 0},
			"over 16 MiB":          {api.SubmitRequest{Behavior: "any", Params: json.RawMessage(refTo(huge))}, api.CodeTooLarge, "params", api.MaxPayload},
			"over 16 MiB, sent":    {api.SubmitRequest{Behavior: "any", ParamsBase64: huge}, api.CodeTooLarge, "params_base64", api.MaxPayload},
			"the behavior's limit": {api.SubmitRequest{Behavior: "little", Params: json.RawMessage(refTo(big))}, api.CodeTooLarge, "params", 1000},
			"its limit, sent":      {api.SubmitRequest{Behavior: "little", Params: big}, api.CodeTooLarge, "params", 1000},
			"schema":               {api.SubmitRequest{Behavior: "strict", Params: json.RawMessage(refTo(big))}, api.CodeParamsSchema, "params", 0},
		} {
			t.Log(name)
			_, err := c.Node(1).Submit(ctx, x.r)
			wantRefusal(t, err, x.code, x.field, x.limit)
		}
		if n := c.refs(big); n != 0 {
			t.Errorf("%d references by what was refused", n)
		}
	})
}

// TestExternalWorkerWithLargePayloads: an external worker sends more than 64 KiB. Its checkpoint and result become
// blobs. A repeated finish is recognized. A blob that is not stored is refused, and the attempt goes on.
func TestExternalWorkerWithLargePayloads(t *testing.T) {
	Run(t, 3, Options{NoWorkers: true}, func(t *testing.T, c *Cluster) {
		putExternal(t, c, 0, "ext", `{"kind":"external"}`)
		params, checkpoint, result := text("p", 90_000), text("c", 80_000), text("r", 70_000)
		id := c.Submit(1, "ext", string(params))
		ctx, cancel := c.Context(patience)
		defer cancel()
		got, err := c.Node(2).Accept(ctx, api.AcceptRequest{Behavior: "ext", Worker: "w"})
		if err != nil || len(got.Tasks) != 1 {
			t.Fatalf("%+v, %v", got, err)
		}
		c.wantBlob(2, got.Tasks[0].Params, params)
		token := got.Tasks[0].Lease.Token
		if _, err := c.Node(1).Heartbeat(ctx, api.HeartbeatRequest{ID: id, Token: token, Checkpoint: checkpoint}); err != nil {
			t.Fatal(err)
		}
		c.wantBlob(0, c.Wait(0, id, api.GetOptions{}).Checkpoint, checkpoint)
		_, err = c.Node(1).Finish(ctx, api.FinishRequest{ID: id, Token: token, Result: json.RawMessage(refTo([]byte("unknown")))})
		wantRefusal(t, err, "blob_gone", "result", 0)
		if now := c.Wait(0, id, api.GetOptions{}); now.Status != "RUNNING" {
			t.Fatalf("%s", Show(now))
		}
		for try, repeated := range []bool{false, true} {
			reply, err := c.Node(try).Finish(ctx, api.FinishRequest{ID: id, Token: token, Result: result})
			if err != nil || reply.Repeated != repeated {
				t.Fatalf("try %d: %+v, %v", try, reply, err)
			}
			c.wantBlob(2, reply.Task.Result, result)
		}
		if n := c.refs(checkpoint); n != 0 {
			t.Errorf("the checkpoint of a success is needed %d times", n)
		}
		bulk := func(token uint64, result json.RawMessage) api.FinishResult {
			many, err := c.Node(0).FinishMany(ctx, []api.FinishRequest{{ID: id, Token: token, Result: result}}) // one of a task in each call
			if err != nil || len(many) != 1 {
				t.Fatalf("bulk: %+v, %v", many, err)
			}
			return many[0]
		}
		if r := bulk(token, result); r.FinishReply == nil || !r.Repeated {
			t.Errorf("bulk, again: %+v", r)
		}
		if r := bulk(token, json.RawMessage(refTo([]byte("unknown")))); r.Error == nil || r.Error.Code != "blob_gone" {
			t.Errorf("bulk, of an unknown blob: %+v", r)
		}
		if r := bulk(token+9, result); r.Error == nil || r.Error.Code != "halt" {
			t.Errorf("bulk, with another token: %+v", r)
		}
	})
}

// TestLargeCheckpointOutlivesItsWorker: a worker dies after a checkpoint that is a blob. The task goes on from the
// checkpoint elsewhere, whichever node has the bytes.
func TestLargeCheckpointOutlivesItsWorker(t *testing.T) {
	params, saved := text("p", 200_000), []byte(text("s", 300_000))
	var g gates
	guest := func(ctx context.Context, j *Job) (string, error) {
		if string(j.Raw) != string(params) {
			return "", fmt.Errorf("%d bytes of params", len(j.Raw))
		}
		if j.Checkpoint == nil {
			if err := j.Host.Checkpoint(ctx, saved); err != nil {
				return "", err
			}
			g.let("saved")
			return "", j.Sleep(ctx, time.Hour)
		}
		return string(j.Checkpoint), nil
	}
	Run(t, 3, Options{NoWorkers: true, Guest: guest}, func(t *testing.T, c *Cluster) {
		g = gates{}
		c.Push(0, "echo")
		first := c.AddWorker("w1", 1)
		c.WorkersReady(1)
		id := c.Submit(0, "echo", string(params))
		ctx, cancel := c.Context(patience)
		defer cancel()
		if err := g.pass(ctx, "saved"); err != nil {
			t.Fatal(err)
		}
		if n := c.refs(saved); n != 1 {
			t.Errorf("the checkpoint is needed %d times", n)
		}
		first.Kill()
		c.Kill(c.Leader())
		c.AddWorker("w2", 1)
		done := c.Final(c.Followers()[0], id)
		if done.Status != "SUCCESS" || done.Attempt != 2 || done.History[0].Outcome != "LOST" {
			t.Fatalf("%s", Show(done))
		}
		c.wantBlob(c.Leader(), done.Result, saved)
		c.Start(c.down())
	})
}

// down returns a member that is down.
func (c *Cluster) down() int {
	for i, m := range c.Members {
		if m.up() == nil {
			return i
		}
	}
	return -1
}

// TestPayloadsBesideMaintenance: maintenance with hardly any grace deletes again and again what nothing refers to yet,
// while large payloads come in. A payload that was deleted between storing and referring is stored again. So every task
// is submitted and runs, and what is referred to stays.
func TestPayloadsBesideMaintenance(t *testing.T) {
	o := Options{Configure: func(_ int, c *node.Config) {
		c.Maintenance = maintain.Config{Every: -1, Grace: time.Millisecond, UnsafeGrace: true}
	}}
	Run(t, 3, o, func(t *testing.T, c *Cluster) {
		c.Push(0, "echo")
		ctx, cancel := c.Context(patience)
		defer cancel()
		far := c.Followers()[0]                                                    // from there storing and referring are far apart
		if _, err := c.Node(far).Drain(ctx, c.Members[far].ID, true); err != nil { // a run there would take as long as the test
			t.Fatal(err)
		}
		for i, m := range c.Members {
			if i != far {
				c.Net.Delay(c.Members[far].Addr, m.Addr, 100*time.Millisecond)
			}
		}
		const tasks = 100
		var left atomic.Int64
		left.Store(tasks)
		var wg sync.WaitGroup
		for i := range tasks {
			wg.Go(func() {
				defer left.Add(-1)
				c.Sleep(time.Duration(i*97) * time.Millisecond)
				params := text(fmt.Sprintf("%04d", i), 66_000)
				got, err := c.Node(far).Submit(ctx, api.SubmitRequest{Behavior: "echo", ID: fmt.Sprint("task-", i), Params: params})
				for api.CodeOf(err) == api.CodeNotReady { // it gives up after some rounds, and says so
					got, err = c.Node(far).Submit(ctx, api.SubmitRequest{Behavior: "echo", ID: fmt.Sprint("task-", i), Params: params})
				}
				if err != nil {
					t.Errorf("submit %d: %v", i, err)
					return
				}
				done, err := c.Node((i+1)%3).Task(ctx, "", got.Task.ID, api.GetOptions{Wait: patience})
				if err != nil || done.Status != "SUCCESS" {
					t.Errorf("task %d: %v, %v", i, done, err)
				}
			})
		}
		runs := 0
		for left.Load() > 0 && ctx.Err() == nil {
			if _, err := c.Node(c.Leader()).StartMaintenance(ctx, api.MaintenanceRequest{}); err == nil {
				runs++
			}
			c.Sleep(31 * time.Millisecond)
		}
		wg.Wait()
		c.Sleep(time.Minute)
		for i := range tasks {
			params := text(fmt.Sprintf("%04d", i), 66_000)
			c.wantBlob(i%3, c.Wait(i%3, fmt.Sprint("task-", i), api.GetOptions{}).Result, params)
			if n := c.refs(params); n != 2 {
				t.Errorf("task %d: %d references", i, n)
			}
		}
		dropped := int64(0)
		list, err := c.Node(0).MaintenanceRuns(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list {
			for _, o := range r.Objects {
				if o.Kind == "blob" {
					dropped += o.Deleted
				}
			}
		}
		if dropped == 0 {
			t.Errorf("%d runs deleted nothing: this shows nothing", runs)
		}
		t.Logf("%d runs, %d blobs deleted under them", runs, dropped)
	})
}
