package node_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/internal/clustertest"
)

// TestIdempotencyKeys: a request that was done under a key gets the same answer again, from every node, even when the
// request would be refused by now (SPEC H4).
func TestIdempotencyKeys(t *testing.T) {
	clustertest.Run(t, 3, clustertest.Options{NoWorkers: true}, func(t *testing.T, c *clustertest.Cluster) {
		if _, err := put(t, c, 0, "mail", `{"kind":"external"}`); err != nil {
			t.Fatal(err)
		}
		ctx := api.WithOnce(t.Context(), api.Once{Key: 7, Body: 1})
		first, err := c.Node(0).Submit(ctx, api.SubmitRequest{Behavior: "mail"})
		if err != nil || first.Outcome != "created" {
			t.Fatalf("%+v, %v", first, err)
		}
		batch := []api.SubmitRequest{{Behavior: "late"}, {Behavior: "mail"}, {Behavior: "mail", ID: "third"}}
		bctx := api.WithOnce(t.Context(), api.Once{Key: 8, Body: 1})
		before, err := c.Node(1).SubmitBatch(bctx, batch)
		if err != nil || before[0].Error == nil || before[1].Error != nil || before[2].Error != nil {
			t.Fatalf("%+v, %v", before, err)
		}

		// The behavior is gone, the behavior that was missing is there, and another node leads.
		if err := c.Node(2).DeleteBehavior(t.Context(), "", "mail", false); err != nil {
			t.Fatal(err)
		}
		if _, err := put(t, c, 0, "late", `{"kind":"external"}`); err != nil {
			t.Fatal(err)
		}
		leader := c.Leader()
		c.Kill(leader)
		i := c.Leader(leader)
		again, err := c.Node(i).Submit(ctx, api.SubmitRequest{Behavior: "mail"})
		if err != nil || again.Task.ID != first.Task.ID || again.Outcome != "created" {
			t.Errorf("%+v, %v; first it was %+v", again, err, first)
		}
		after, err := c.Node(i).SubmitBatch(bctx, batch)
		if err != nil || after[0].Error != nil || after[0].Outcome != "created" || after[1].Error != nil || after[1].Task.ID != before[1].Task.ID ||
			after[2].Outcome != "created" {
			t.Errorf("%+v, %v; first it was %+v", after, err, before)
		}
		_, err = c.Node(i).Submit(api.WithOnce(t.Context(), api.Once{Key: 7, Body: 2}), api.SubmitRequest{Behavior: "mail"})
		wantError(t, err, 422, "idempotency_mismatch", "")
		_, err = c.Node(i).Submit(api.WithOnce(t.Context(), api.Once{Key: 8, Body: 2}), api.SubmitRequest{Behavior: "late"})
		wantError(t, err, 422, "idempotency_mismatch", "")
		_, err = c.Node(i).Submit(t.Context(), api.SubmitRequest{Behavior: "mail"})
		wantError(t, err, 404, api.CodeBehaviorNotFound, "behavior")
		l, err := c.Node(i).Tasks(t.Context(), api.ListRequest{})
		if err != nil || len(l.Tasks) != 4 {
			t.Errorf("%d tasks, %v", len(l.Tasks), err)
		}

		// After an hour the key is free again.
		c.Sleep(61 * time.Minute)
		fresh, err := c.Node(i).Submit(api.WithOnce(t.Context(), api.Once{Key: 7, Body: 2}), api.SubmitRequest{Behavior: "late"})
		if err != nil || fresh.Outcome != "created" {
			t.Errorf("%+v, %v", fresh, err)
		}
	})
}

// TestPushUnderAKey: a push is sent again under its key. It does not undo a later push (SPEC H4, B2).
func TestPushUnderAKey(t *testing.T) {
	clustertest.Run(t, 1, clustertest.Options{NoWorkers: true}, func(t *testing.T, c *clustertest.Cluster) {
		wasm, _, err := clustertest.Guest("echo")
		if err != nil {
			t.Fatal(err)
		}
		push := func(key, body uint64, about string) error {
			_, err := c.Node(0).Push(api.WithOnce(t.Context(), api.Once{Key: key, Body: body}), api.PushRequest{
				Wasm: bytes.NewReader(wasm), Size: int64(len(wasm)), Manifest: []byte(`{"behaviors":[{"name":"one","description":"` + about + `"}]}`),
			})
			return err
		}
		c.Leader()
		for i, err := range []error{push(1, 1, "first"), push(2, 1, "second"), push(1, 1, "first")} {
			if err != nil {
				t.Fatalf("push %d: %v", i, err)
			}
		}
		b, err := c.Node(0).Behavior(t.Context(), "", "one")
		if err != nil || len(b.Versions) != 2 || !b.Versions[0].Active || !bytes.Contains(b.Manifest, []byte(`"second"`)) {
			t.Errorf("%+v, %v", b, err)
		}
		wantError(t, push(1, 2, "third"), 422, "idempotency_mismatch", "")
	})
}
