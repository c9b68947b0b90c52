package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
	"github.com/taskrt/taskrt/api/tracing"
)

// Submit implements Service.
func (c *Client) Submit(ctx context.Context, r api.SubmitRequest) (*api.SubmitReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	if r.Wait > 0 {
		return c.submitAndWait(ctx, &r)
	}
	if c.pipe != nil && idempotencyKey(ctx) == "" && (tracing.Parent(ctx) == "" || !c.tracesAlone.Load()) { // one request has one key
		reply, alone, err := submitPipelined(ctx, c, &r)
		if !alone {
			return reply, err
		}
	}
	var answer api.SubmitReply
	if _, err := c.do(ctx, submitCall(&r), &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// submitCall returns the call of a submit that has been checked.
func submitCall(r *api.SubmitRequest) call {
	return call{
		method: http.MethodPost, path: "/v1/tasks", query: url.Values{}, contentType: codec.JSONMedia, body: codec.AppendRequest(nil, r), resend: resendable(r), minimal: r.Minimal,
	}
}

// resendable reports whether a second submit joins the task of the first.
func resendable(r *api.SubmitRequest) bool {
	return r.ID != "" && (r.IfExists == "" || r.IfExists == "join")
}

// SubmitBatch implements Service. Tasks that do not fit into one body go in several bodies: a batch is not a transaction. If a
// body after the first fails as a whole, its tasks and all tasks after them have this error.
func (c *Client) SubmitBatch(ctx context.Context, rs []api.SubmitRequest) ([]api.SubmitResult, error) {
	if err := api.CheckBatch(rs); err != nil {
		return nil, err
	}
	results := make([]api.SubmitResult, len(rs))
	b, first := newBatch(1, c.bodySize(rs)), true
	var failed error
	for i := range rs {
		r := rs[i]
		if err := r.Check(); err != nil {
			results[i].Error = api.ErrorOf(err)
			continue
		}
		b.add(i, &r)
		if b.size() > c.config.BatchBytes {
			if failed = c.sendBatch(ctx, b, results, failed); failed != nil && first {
				return nil, failed
			}
			b, first = newBatch(b.number+1, c.bodySize(rs[i+1:])), false
		}
	}
	if failed = c.sendBatch(ctx, b, results, failed); failed != nil && first {
		return nil, failed
	}
	return results, nil
}

// batch is one request of a SubmitBatch.
type batch struct {
	body      []byte // without the `]}` at its end
	positions []int  // of its tasks among the results
	resend    bool
	minimal   bool // for all of its tasks the short answer is enough
	number    int  // 1, 2, … within the call
}

func newBatch(number, size int) *batch {
	return &batch{resend: true, minimal: true, number: number, body: append(make([]byte, 0, size), `{"tasks":[`...)}
}

func (b *batch) size() int { return len(b.body) }

// bodySize guesses how many bytes one body for these tasks takes.
func (c *Client) bodySize(rs []api.SubmitRequest) int {
	const around = 160 // bytes of a task's names, and of what stands between them
	size := around
	for i := range rs {
		size += around + len(rs[i].Params) + len(rs[i].ParamsBase64)*4/3
	}
	return min(size, c.config.BatchBytes+around)
}

func (b *batch) add(position int, r *api.SubmitRequest) {
	if len(b.positions) > 0 {
		b.body = append(b.body, ',')
	}
	b.body = codec.AppendRequest(b.body, r)
	b.positions, b.resend = append(b.positions, position), b.resend && resendable(r)
	b.minimal = b.minimal && r.Minimal
}

// sendBatch sends a batch, and fills in the results of its tasks. failed is the error of an earlier batch. If there was one,
// sendBatch sends nothing, and this error is the result of all its tasks.
func (c *Client) sendBatch(ctx context.Context, b *batch, results []api.SubmitResult, failed error) error {
	if len(b.positions) == 0 {
		return failed
	}
	var answer codec.SubmitResults
	if failed == nil {
		_, failed = c.do(ctx, call{
			method: http.MethodPost, path: "/v1/tasks", contentType: codec.JSONMedia, wait: slowWait, resend: b.resend, part: partOf(b.number),
			body: append(b.body, "]}"...), minimal: b.minimal,
		}, &answer)
		if failed == nil && len(answer.Results) != len(b.positions) {
			failed = api.NewError(api.CodeInternal, "%d answers to %d tasks", len(answer.Results), len(b.positions))
		}
	}
	for i, at := range b.positions {
		if failed == nil {
			results[at] = answer.Results[i]
		} else if results[at].Error = api.ErrorOf(failed); results[at].Error == nil {
			results[at].Error = api.NewError(api.CodeInternal, "%v", failed)
		}
	}
	return failed
}

// submitSlice is for how much of a wait a submit asks. If the node dies during this time, nobody knows whether the task was
// created, if the submit gave no ID. For the rest of a longer wait the client has the task's ID.
const submitSlice = 2 * time.Second

// submitAndWait submits with the first slice of the wait, then waits for the rest as for any other task.
func (c *Client) submitAndWait(ctx context.Context, r *api.SubmitRequest) (*api.SubmitReply, error) {
	end := time.Now().Add(r.Wait)
	k := submitCall(r)
	k.minimal, k.wait = false, min(r.Wait, submitSlice)
	k.query.Set("wait", k.wait.String())
	var reply api.SubmitReply
	if _, err := c.do(ctx, k, &reply); err != nil {
		return nil, err
	}
	if left := time.Until(end); reply.TimedOut && left > 0 && r.Wait > submitSlice {
		if err := reply.AwaitSubmitted(ctx, c, api.GetOptions{Wait: left}); err != nil {
			return nil, err
		}
	}
	return &reply, nil
}
