package node_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/internal/clustertest"
)

const fanManifest = `{"schema":1,"behaviors":[
	{"name":"fan","operation":{"concurrency":"one_per_target"},"limits":{"params_bytes":100},
	 "params_schema":{"type":"object","properties":{"arg":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]},"partition":{"maxLength":3}}}},
	{"name":"plain"}]}`

func TestStartOperationRefusals(t *testing.T) {
	clustertest.Run(t, 1, clustertest.Options{NoWorkers: true}, func(t *testing.T, c *clustertest.Cluster) {
		wasm, _, err := clustertest.Guest("echo")
		if err != nil {
			t.Fatal(err)
		}
		c.PushWasm(0, "", wasm, []byte(fanManifest))
		missing := strings.Repeat("0", 64)
		good := func(change func(*api.StartOperationRequest)) api.StartOperationRequest {
			r := api.StartOperationRequest{Behavior: "fan", Partitions: api.Partitions{Count: 2}, Arg: []byte(`{"n":1}`)}
			change(&r)
			return r
		}
		for _, x := range []struct {
			name   string
			r      api.StartOperationRequest
			status int
			code   string
			field  string
			limit  int64
		}{
			{"no behavior", good(func(r *api.StartOperationRequest) { r.Behavior = "nothing" }), 404, api.CodeBehaviorNotFound, "behavior", 0},
			{"none of operations", good(func(r *api.StartOperationRequest) { r.Behavior = "plain" }), 409, "not_an_operation", "behavior", 0},
			{"schema of arg", good(func(r *api.StartOperationRequest) { r.Arg = []byte(`{"n":"x"}`) }), 422, api.CodeParamsSchema, "arg.n", 0},
			{"schema of names", good(func(r *api.StartOperationRequest) { r.Partitions = api.Partitions{Names: []string{"long"}} }), 422, api.CodeParamsSchema, "partition", 0},
			{"behavior's limit", good(func(r *api.StartOperationRequest) {
				r.Arg = []byte(`{"n":1,"x":"` + strings.Repeat("x", 100) + `"}`)
			}), 413, api.CodeTooLarge, "arg", 100},
			{"inline limit", good(func(r *api.StartOperationRequest) {
				r.Arg = []byte(`"` + strings.Repeat("x", api.MaxInline) + `"`)
			}), 413, api.CodeTooLarge, "arg", api.MaxInline},
			{"blob that is not there", good(func(r *api.StartOperationRequest) {
				r.Arg = []byte(`{"n":1,"b":{"$blob":"sha256:` + missing + `"}}`)
			}), 409, "blob_gone", "arg", 0},
			{"no partitions", good(func(r *api.StartOperationRequest) { r.Partitions = api.Partitions{} }), 400, api.CodeInvalidField, "partitions", api.MaxPartitions},
		} {
			t.Log(x.name)
			_, err := c.Node(0).StartOperation(t.Context(), x.r)
			wantError(t, err, x.status, x.code, x.field)
			if e := err.(*api.Error); e.Limit != x.limit { //nolint:errorlint // wantError has looked at the type
				t.Errorf("limit %d, want %d", e.Limit, x.limit)
			}
		}
		l, err := c.Node(0).Operations(t.Context(), api.OperationsRequest{})
		if err != nil || len(l.Operations) > 0 {
			t.Errorf("something was stored: %v, %v", l, err)
		}
	})
}

// TestStartOperationOnce: a start is sent again under its key, through another node, after the behavior has gone. It
// gets the first answer again. The blob that its argument names is kept.
func TestStartOperationOnce(t *testing.T) {
	clustertest.Run(t, 3, clustertest.Options{NoWorkers: true}, func(t *testing.T, c *clustertest.Cluster) {
		wasm, _, err := clustertest.Guest("echo")
		if err != nil {
			t.Fatal(err)
		}
		c.PushWasm(0, "", wasm, []byte(fanManifest))
		b, err := c.Node(0).PutBlob(t.Context(), api.PutBlobRequest{Body: bytes.NewReader([]byte("table")), Size: 5})
		if err != nil {
			t.Fatal(err)
		}
		ctx := api.WithOnce(t.Context(), api.Once{Key: 7, Body: 8})
		r := api.StartOperationRequest{Behavior: "fan", Partitions: api.Partitions{Count: 2}, Arg: []byte(`{"n":1,"b":{"$blob":"` + b.Digest + `"}}`)}
		first, err := c.Node(1).StartOperation(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Node(0).DeleteBehavior(t.Context(), "", "fan", false); err != nil {
			t.Fatal(err)
		}
		again, err := c.Node(2).StartOperation(ctx, r)
		if err != nil || again.ID != first.ID || again.Instance != 1 || again.CreatedAt != first.CreatedAt {
			t.Errorf("the same again: %+v, %v; it was %+v", again, err, first)
		}
		// The operation waits for a behavior of its behavior's name. Its version is kept for that behavior (SPEC B8).
		c.Sleep(time.Minute)
		if o, err := c.Node(2).Operation(t.Context(), "", first.ID, api.OperationGet{}); err != nil || o.Status != "RUNNING" || o.Counts.Waiting != 2 {
			t.Errorf("%+v, %v", o, err)
		}
	})
}
