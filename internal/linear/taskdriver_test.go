package linear

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/taskrt/taskrt/internal/idle"
)

// taskCell is two tasks of one external behavior with what its callers know of them.
type taskCell struct {
	c       *cluster
	name    string // the behavior's name
	short   bool
	start   time.Time
	history history

	mu       sync.Mutex
	leases   []lease // the leases that were handed out, in order
	count    int
	requests int
}

type lease struct {
	id    int
	token uint64
}

func (c *taskCell) hist() *history { return &c.history }

// open defines the behavior.
func (c *taskCell) open(ctx context.Context, r *rand.Rand) error {
	ttl := "1h"
	if c.short {
		ttl = "1s"
	}
	body := map[string]any{"kind": "external", "lease": ttl, "cancel_grace": "1s"}
	a, v := c.c.request(ctx, r, "PUT", "/v1/behaviors/"+c.name, "", body, true)
	if v != known || a.status >= 300 {
		return fmt.Errorf("define %s: %d %s", c.name, a.status, a.body)
	}
	return nil
}

func (c *taskCell) id(i int) string { return fmt.Sprintf("%s.%d", c.name, i) }

// someLease returns a lease that was handed out, mostly a late one.
func (c *taskCell) someLease(r *rand.Rand) (lease, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.leases) == 0 {
		return lease{}, false
	}
	back := min(r.IntN(3)*r.IntN(3), len(c.leases)-1)
	return c.leases[len(c.leases)-1-back], true
}

// step makes one random request.
func (c *taskCell) step(ctx context.Context, r *rand.Rand, client int) {
	in := taskInput{op: "get", id: r.IntN(2), short: c.short}
	held, some := c.someLease(r)
	switch n := r.IntN(20); {
	case n < 5:
	case n < 8:
		in.op, in.join = "submit", r.IntN(2) == 0
	case n < 12:
		in.op, in.id = "accept", 0
	case n < 15 && some:
		in.op, in.id, in.token = "finish", held.id, held.token
	case n < 17 && some:
		in.op, in.id, in.token = "handover", held.id, held.token
	case n < 18 && some:
		in.op, in.id, in.token = "guarded", held.id, held.token
	case n < 19:
		in.op = "remove"
	case r.IntN(2) == 0:
		in.op = "cancel"
	}
	if in.op == "finish" || in.op == "handover" {
		c.mu.Lock()
		c.count++
		in.result = fmt.Sprintf("r%d", c.count-r.IntN(2)) // at times the same result once more
		c.mu.Unlock()
	}
	if in.op == "accept" {
		c.mu.Lock()
		c.requests++
		in.request = c.requests
		c.mu.Unlock()
	}
	c.history.record(client, c.start, func() any { return in }, in.op == "get", func() (any, verdict) {
		out, v := c.do(ctx, r, client, &in)
		return out, v
	})
}

func (c *taskCell) do(ctx context.Context, r *rand.Rand, client int, in *taskInput) (taskOutput, verdict) {
	id := c.id(in.id)
	var a answer
	var v verdict
	switch in.op {
	case "get":
		a, v = c.c.request(ctx, r, "GET", "/v1/tasks/"+id, "", nil, true)
	case "submit":
		body := map[string]any{"behavior": c.name, "id": id, "if_exists": "fail"}
		if in.join {
			body["if_exists"] = "join"
		}
		a, v = c.c.request(ctx, r, "POST", "/v1/tasks", keyFor(r), body)
	case "accept":
		return c.accept(ctx, r, client, in)
	case "finish":
		a, v = c.c.request(ctx, r, "POST", "/v1/tasks/"+id+"/finish", keyFor(r), map[string]any{"token": in.token, "result": in.result})
	case "cancel":
		a, v = c.c.request(ctx, r, "POST", "/v1/tasks/"+id+"/cancel", keyFor(r), nil)
	case "remove":
		a, v = c.c.request(ctx, r, "DELETE", "/v1/tasks/"+id, keyFor(r), nil)
	case "handover", "guarded":
		a, v = c.c.request(ctx, r, "POST", "/v1/txn", keyFor(r), c.txn(*in))
	}
	if v != known {
		return taskOutput{}, v
	}
	return c.read(*in, a), known
}

func (c *taskCell) txn(in taskInput) map[string]any {
	id, other := c.id(in.id), c.id(1-in.id)
	if in.op == "guarded" {
		return map[string]any{
			"depends": []any{map[string]any{"id": id, "token": in.token}},
			"delete":  []any{map[string]any{"id": other}},
		}
	}
	return map[string]any{
		"finish": []any{map[string]any{"id": id, "token": in.token, "result": in.result}},
		"submit": []any{map[string]any{"behavior": c.name, "id": other, "if_exists": "fail"}},
	}
}

// accept asks for one task. If leases do not end by themselves, it asks again with the same request ID until there is
// an answer. The history has the lost requests as accepts without an answer. It has those that a node refuses as well,
// however soon it does: a node that begins to stop gives back what was leased meanwhile, and so does one that finds no
// leader. An answer that took time may be the second answer that the node got from a leader: the first was lost, and the
// task that it leased may have been removed meanwhile.
func (c *taskCell) accept(ctx context.Context, r *rand.Rand, client int, in *taskInput) (taskOutput, verdict) {
	body := map[string]any{"worker": fmt.Sprintf("w%d", client), "max": 1, "request_id": fmt.Sprintf("q-%d", in.request)}
	node, begun := r.IntN(hosts), time.Now()
	var a answer
	for {
		called := time.Now()
		var v verdict
		a, v = c.c.send(ctx, node, "POST", "/v1/behaviors/"+c.name+"/accept", "", body)
		if v == known {
			if time.Since(called) > slow {
				c.history.maybe(client, called.Sub(c.start), time.Since(c.start), *in)
			}
			break
		}
		if v == unknown || a.status == http.StatusServiceUnavailable {
			c.history.lost(client, called.Sub(c.start), *in)
			in.resent = true
		}
		if c.short && in.resent || time.Since(begun) > keyedFor || !idle.For(ctx, 50*time.Millisecond) {
			return taskOutput{}, nothing // the history has no further request
		}
		node = (node + 1) % hosts
	}
	if a.status != 200 {
		c.history.refute("accept: %d %s", a.status, a.body)
		return taskOutput{}, unknown
	}
	tasks := decode[struct{ Tasks []record }](a).Tasks
	if len(tasks) == 0 {
		return taskOutput{none: true}, known
	}
	got := lease{id: c.index(tasks[0].ID), token: tasks[0].Lease.Token}
	c.mu.Lock()
	c.leases = append(c.leases, got)
	c.mu.Unlock()
	return taskOutput{id: got.id, state: taskState{phase: running, attempt: tasks[0].Attempt, token: got.token}}, known
}

// slow is the time after which an accept's node may have asked a second time. No leader is lost and found within it.
const slow = 100 * time.Millisecond

func (c *taskCell) index(id string) int { return int(id[len(id)-1] - '0') }

// record is the part of a task that the model knows.
type record struct {
	ID              string
	Status          string
	Attempt         int64
	Result          json.RawMessage
	CancelRequested bool `json:"cancel_requested"`
	Error           *struct{ Code string }
	Lease           *struct{ Token uint64 }
}

func (t record) state() taskState {
	s := taskState{attempt: t.Attempt, cancelling: t.CancelRequested}
	switch t.Status {
	case "CREATED":
		s.phase = waiting
	case "RUNNING":
		s.phase, s.token = running, t.Lease.Token
	case "SUCCESS":
		s.phase = succeeded
		_ = json.Unmarshal(t.Result, &s.result)
	case "FAILURE":
		s.phase = cancelled
	}
	return s
}

// read turns an answer into the model's terms.
func (c *taskCell) read(in taskInput, a answer) taskOutput {
	var out taskOutput
	switch {
	case a.status == 409 && (in.op == "handover" || in.op == "guarded"):
		p := decode[struct {
			Code    string
			Reasons []struct{ Kind, ID string }
		}](a)
		var reasons []string
		for _, r := range p.Reasons {
			reasons = append(reasons, fmt.Sprintf("%s:%d", r.Kind, c.index(r.ID)))
		}
		slices.Sort(reasons)
		out.code = strings.Join(reasons, " ")
	case a.status == 404 || a.status == 409:
		out.code = a.code()
	case a.status >= 300:
		c.history.refute("%+v: %d %s", in, a.status, a.body)
	case in.op == "get":
		out.state = decode[struct{ Task record }](a).Task.state()
	case in.op == "submit":
		out.outcome = decode[struct{ Outcome string }](a).Outcome
	case in.op == "finish":
		out.repeated = decode[struct{ Repeated bool }](a).Repeated
	case in.op == "cancel":
		out.told = a.status == 202
	}
	return out
}
