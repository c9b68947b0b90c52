package apitest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task"
)

// textOf returns JSON of n bytes, which differs from name to name.
func textOf(name string, n int) json.RawMessage {
	text := strings.Repeat(name+" ", n/(len(name)+1)+1)
	return json.RawMessage(`"` + text[:n-2] + `"`)
}

func refTo(content []byte) json.RawMessage {
	return api.BlobRef(digest(content))
}

// wantBlob checks that a payload is shown as a reference to the content, that the content can be read, and that refs records
// need it.
func (s *suite) wantBlob(ctx context.Context, t *testing.T, shown json.RawMessage, content []byte, refs int64) {
	t.Helper()
	if string(shown) != string(refTo(content)) {
		t.Fatalf("shown as %.100q, want %s", shown, refTo(content))
	}
	_, got, err := s.blobBytes(ctx, api.BlobRange{Digest: blobDigest(content), Length: -1})
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes of %d, %v", len(got), len(content), err)
	}
	s.wantRefs(ctx, t, content, refs)
}

func (s *suite) wantRefs(ctx context.Context, t *testing.T, content []byte, refs int64) {
	t.Helper()
	if b, err := s.Blob(ctx, blobDigest(content)); err != nil || b.Refs != refs {
		t.Errorf("%+v, %v; want %d references", b, err, refs)
	}
}

// payloads: a payload of more than 64 KiB becomes a blob, and is shown as a reference. A payload that refers to blobs keeps
// them as long as the task is there (SPEC H3).
func (s *suite) payloads(ctx context.Context, t *testing.T) {
	inline, long, raw := textOf("inline", api.MaxInline), textOf("long", api.MaxInline+1), fileOf("payload", 100_000)
	small, odd := []byte(`{"a": 1}`), []byte("no JSON at all")
	for _, blob := range [][]byte{small, odd} {
		s.putBlob(ctx, t, blob)
	}
	naming := json.RawMessage(fmt.Sprintf(`{"x":[%s,%s,%s]}`, refTo(small), refTo(odd), refTo(small)))
	longNaming := json.RawMessage(fmt.Sprintf(`[%s,%s]`, refTo(odd), long))
	for name, c := range map[string]struct {
		r       api.SubmitRequest
		inline  bool
		content []byte
		named   [][]byte
	}{
		"to the limit":     {r: api.SubmitRequest{Params: inline}, inline: true, content: inline},
		"over it":          {r: api.SubmitRequest{Params: long}, content: long},
		"spaced":           {r: api.SubmitRequest{Params: json.RawMessage(" " + string(long) + "\n")}, content: long},
		"bytes":            {r: api.SubmitRequest{ParamsBase64: raw}, content: raw},
		"reference":        {r: api.SubmitRequest{Params: refTo(small)}, content: small},
		"spaced reference": {r: api.SubmitRequest{Params: json.RawMessage(strings.ReplaceAll(string(refTo(small)), ":\"", " : \""))}, content: small},
		"to no JSON":       {r: api.SubmitRequest{Params: refTo(odd)}, content: odd},
		"naming":           {r: api.SubmitRequest{Params: naming}, inline: true, content: naming, named: [][]byte{small, odd}},
		"long and naming":  {r: api.SubmitRequest{Params: longNaming}, content: longNaming, named: [][]byte{odd}},
	} {
		t.Run(name, func(t *testing.T) {
			c.r.Behavior = okBehavior
			x := s.must(ctx, t, c.r)
			shown := x.Params
			if x = s.final(ctx, t, x.ID); string(x.Params) != string(shown) || x.ParamsBase64 != nil {
				t.Errorf("first shown as %.100q, then as %.100q", shown, x.Params)
			}
			if c.inline {
				if string(shown) != string(c.content) {
					t.Errorf("shown as %.100q", shown)
				}
			} else {
				s.wantBlob(ctx, t, shown, c.content, 1)
			}
			for _, blob := range c.named {
				s.wantRefs(ctx, t, blob, 1)
			}
			if err := s.Remove(ctx, "", x.ID); err != nil {
				t.Fatal(err)
			}
			for _, blob := range append(c.named, small, odd) {
				s.wantRefs(ctx, t, blob, 0)
			}
		})
	}
}

// payloadsAreContent: equal params make one task, in whatever form they were sent.
func (s *suite) payloadsAreContent(ctx context.Context, t *testing.T) {
	params := textOf("content", 80_000)
	id := deterministicID("default", hashBehavior, string(params))
	x := s.must(ctx, t, api.SubmitRequest{Behavior: hashBehavior, Params: params})
	if x.ID != id {
		t.Errorf("the ID is %s, want %s", x.ID, id)
	}
	spaced := append([]byte(" "), params...)
	s.putBlob(ctx, t, spaced)
	for _, r := range []api.SubmitRequest{{Params: params}, {Params: refTo(params)}, {Params: refTo(spaced)}} {
		r.Behavior = hashBehavior
		if reply, err := s.Submit(ctx, r); err != nil || reply.Task.ID != id || reply.Outcome == "created" {
			t.Errorf("%.100s: %+v, %v", r.Params, reply, err)
		}
	}
	if done := s.final(ctx, t, id); done.Attempt != 1 {
		t.Errorf("%d runs", done.Attempt)
	}
	later := duration(patience)
	y := s.must(ctx, t, api.SubmitRequest{Behavior: okBehavior, ID: "payload-later", Delay: later, Params: params})
	if reply, err := s.Resubmit(ctx, api.ResubmitRequest{ID: y.ID, Delay: duration(2 * patience), Params: refTo(spaced)}); err != nil || string(reply.Task.Params) != string(refTo(spaced)) {
		t.Errorf("resubmitted: %+v, %v", reply, err)
	}
	s.wantRefs(ctx, t, spaced, 1)
	reply, err := s.Txn(ctx, api.TxnRequest{
		Submit: []api.SubmitRequest{{Behavior: okBehavior, ID: "payload-txn", Delay: later, Params: params}},
		Update: []api.TxnUpdate{{ID: y.ID, Params: params}},
	})
	if err != nil || string(reply.Tasks[0].Params) != string(refTo(params)) || string(reply.Tasks[1].Params) != string(refTo(params)) {
		t.Errorf("in a transaction: %+v, %v", reply, err)
	}
	s.wantRefs(ctx, t, params, 3)
	s.wantRefs(ctx, t, spaced, 0)
}

// payloadsOfWorkers: results and checkpoints of workers over HTTP become blobs, too.
func (s *suite) payloadsOfWorkers(ctx context.Context, t *testing.T) {
	const name = "apitest.payloads"
	s.external(ctx, t, name, "")
	params, checkpoint, result := textOf("params", 90_000), textOf("checkpoint", 80_000), fileOf("result", 70_000)
	s.must(ctx, t, api.SubmitRequest{Behavior: name, ID: "payload-work", Params: params})
	x := s.acceptOne(ctx, t, name)
	s.wantBlob(ctx, t, x.Params, params, 1)
	if _, err := s.Heartbeat(ctx, api.HeartbeatRequest{ID: x.ID, Token: x.Lease.Token, Checkpoint: checkpoint}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Snooze(ctx, api.SnoozeRequest{ID: x.ID, Token: x.Lease.Token, AgainAt: after(0)}); err != nil {
		t.Fatal(err)
	}
	x = s.acceptOne(ctx, t, name)
	s.wantBlob(ctx, t, x.Checkpoint, checkpoint, 1)
	for _, repeated := range []bool{false, true} {
		reply, err := s.Finish(ctx, api.FinishRequest{ID: x.ID, Token: x.Lease.Token, ResultBase64: result})
		if err != nil || reply.Repeated != repeated {
			t.Fatalf("%+v, %v", reply, err)
		}
		s.wantBlob(ctx, t, reply.Task.Result, result, 1)
	}
	s.wantRefs(ctx, t, checkpoint, 0)

	s.must(ctx, t, api.SubmitRequest{Behavior: name, ID: "payload-many-1"})
	s.must(ctx, t, api.SubmitRequest{Behavior: name, ID: "payload-many-2"})
	all := s.accept(ctx, t, api.AcceptRequest{Behavior: name, Max: 2})
	many, err := s.FinishMany(ctx, []api.FinishRequest{
		{ID: all[0].ID, Token: all[0].Lease.Token, Result: refTo([]byte("nobody"))}, {ID: all[1].ID, Token: all[1].Lease.Token, Result: refTo(result)},
	})
	if err != nil || many[1].FinishReply == nil {
		t.Fatalf("%+v, %v", many, err)
	}
	wantError(t, many[0].Error, "blob_gone", "result")
	s.wantBlob(ctx, t, many[1].Task.Result, result, 2)
}

// payloadsOfOperations: an argument keeps the blobs that it names as long as the operation is there.
func (s *suite) payloadsOfOperations(ctx context.Context, t *testing.T) {
	s.pushOperations(ctx, t)
	table := fileOf("table", 1000)
	s.putBlob(ctx, t, table)
	arg := json.RawMessage(`{"table":` + string(refTo(table)) + `}`)
	o := s.start(ctx, t, api.StartOperationRequest{Behavior: "apitest.op", Target: "payload", Partitions: api.Partitions{Count: 2}, Arg: arg})
	s.ended(ctx, t, o.ID)
	page, err := s.Partitions(ctx, api.PartitionsRequest{ID: o.ID})
	if err != nil || len(page.Tasks) != 2 || !strings.Contains(string(page.Tasks[1].Params), string(arg)) {
		t.Errorf("partitions %+v, %v", page, err)
	}
	s.wantRefs(ctx, t, table, 1)
	if err := s.RemoveOperation(ctx, "", o.ID); err != nil {
		t.Fatal(err)
	}
	s.wantRefs(ctx, t, table, 0)
	_, err = s.StartOperation(ctx, api.StartOperationRequest{Behavior: "apitest.op", Target: "payload", Partitions: api.Partitions{Count: 2}, Arg: refTo([]byte("nobody"))})
	wantError(t, err, "blob_gone", "arg")
}

func (s *suite) payloadsRefused(ctx context.Context, t *testing.T) {
	const name = "apitest.payloadsrefused"
	s.external(ctx, t, name, "")
	x := s.run(ctx, t, name, "payload-refused")
	gone, over := refTo([]byte("nobody")), fileOf("over", api.MaxPayload+1)
	s.putBlob(ctx, t, over)
	tooMany := make([]string, task.MaxNamed+1)
	for i := range tooMany {
		tooMany[i] = string(refTo(fmt.Append(nil, i)))
	}
	for what, c := range map[string]struct {
		code   string
		params json.RawMessage
	}{
		"not stored": {"blob_gone", gone},
		"one of two": {"blob_gone", json.RawMessage(`{"a":` + string(refTo(over)) + `,"b":` + string(gone) + `}`)},
		"over":       {"too_large", refTo(over)},
		"too many":   {"too_large", json.RawMessage("[" + strings.Join(tooMany, ",") + "]")},
	} {
		t.Run(what, func(t *testing.T) {
			_, err := s.Submit(ctx, api.SubmitRequest{Behavior: okBehavior, Params: c.params})
			wantError(t, err, c.code, "params")
			_, err = s.Resubmit(ctx, api.ResubmitRequest{ID: x.ID, Params: c.params})
			wantError(t, err, c.code, "params")
			_, err = s.Finish(ctx, api.FinishRequest{ID: x.ID, Token: x.Lease.Token, Result: c.params})
			wantError(t, err, c.code, "result")
			_, err = s.Heartbeat(ctx, api.HeartbeatRequest{ID: x.ID, Token: x.Lease.Token, Checkpoint: c.params})
			wantError(t, err, c.code, "checkpoint")
			_, err = s.Snooze(ctx, api.SnoozeRequest{ID: x.ID, Token: x.Lease.Token, Checkpoint: c.params})
			wantError(t, err, c.code, "checkpoint")
			_, err = s.Txn(ctx, api.TxnRequest{Submit: []api.SubmitRequest{{Behavior: okBehavior, Params: c.params}}})
			wantError(t, err, c.code, "submit[0].params")
			_, err = s.Txn(ctx, api.TxnRequest{Finish: []api.FinishRequest{{ID: x.ID, Token: x.Lease.Token, Result: c.params}}})
			wantError(t, err, c.code, "finish[0].result")
			_, err = s.Txn(ctx, api.TxnRequest{Update: []api.TxnUpdate{{ID: x.ID, Rev: x.Rev, Params: c.params}}})
			wantError(t, err, c.code, "update[0].params")
		})
	}
	s.wantRefs(ctx, t, over, 0)
	if got, err := s.Task(ctx, "", x.ID, api.GetOptions{}); err != nil || got.Status != "RUNNING" {
		t.Errorf("%+v, %v: the attempt goes on", got, err)
	}
	// Where no blob may stand, the name of a blob is only text.
	if _, err := s.Heartbeat(ctx, api.HeartbeatRequest{ID: x.ID, Token: x.Lease.Token, Progress: gone}); err != nil {
		t.Error(err)
	}
}
