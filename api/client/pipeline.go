package client

import (
	"context"
	"errors"
	"net/http"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/client/internal/pipeline"
	"github.com/taskrt/taskrt/api/internal/codec"
	"github.com/taskrt/taskrt/api/tracing"
)

func newPipeline(c *Client) *pipeline.Pipeline {
	return pipeline.New(pipeline.Config{
		Send: func(ctx context.Context, kind pipeline.Kind, bodies [][]byte) []pipeline.Answer {
			return submitTogether(ctx, c, kind, bodies)
		},
		Bytes: c.config.BatchBytes, Unsent: CodeUnreachable,
	})
}

// submitPipelined is Client.Submit through the pipeline, for a request that has been checked. alone says that the caller is to send the request
// by itself.
func submitPipelined(ctx context.Context, c *Client, r *api.SubmitRequest) (reply *api.SubmitReply, alone bool, err error) {
	traced := tracing.Parent(ctx) != ""
	a := c.pipe.Submit(ctx, pipeline.Kind{Resend: resendable(r), Minimal: r.Minimal, Traced: traced}, codec.AppendRequest(nil, withTrace(ctx, r)))
	if traced && api.CodeOf(a.Err) == api.CodeUnknownField { // a server of version 0.1.0: it knows the trace of a request only
		c.tracesAlone.Store(true)
		return nil, true, nil
	}
	api.SetIndex(ctx, a.Index)
	return a.Reply, a.Alone, a.Err
}

// withTrace returns a submit that says itself what the header of a request of its own would say (SPEC U2): a request of many has one header.
func withTrace(ctx context.Context, r *api.SubmitRequest) *api.SubmitRequest {
	traceparent, tracestate := tracing.Texts(tracing.Own(ctx, r.Traceparent, r.Tracestate))
	if traceparent == "" {
		return r
	}
	own := *r
	own.Traceparent, own.Tracestate = traceparent, tracestate
	return &own
}

// submitTogether sends the bodies of submits in one request, and returns the answer to each.
func submitTogether(ctx context.Context, c *Client, kind pipeline.Kind, bodies [][]byte) []pipeline.Answer {
	ctx, meta := api.WithMeta(ctx)
	k := call{method: http.MethodPost, path: "/v1/tasks", contentType: codec.JSONMedia, resend: kind.Resend, minimal: kind.Minimal}
	if len(bodies) == 1 {
		var reply api.SubmitReply
		k.body = bodies[0]
		if _, err := c.do(ctx, k, &reply); err != nil {
			return []pipeline.Answer{{Err: err, Index: meta.Index()}}
		}
		return []pipeline.Answer{{Reply: &reply, Index: meta.Index()}}
	}
	k.body = bodyOf(bodies)
	var answer codec.SubmitResults
	_, err := c.do(ctx, k, &answer)
	if err == nil && len(answer.Results) != len(bodies) {
		err = api.NewError(api.CodeInternal, "%d answers to %d tasks", len(answer.Results), len(bodies))
	}
	answers := make([]pipeline.Answer, len(bodies))
	for i := range answers {
		a := &answers[i]
		a.Index = meta.Index()
		if err != nil {
			a.Err, a.Alone = err, refusedAsMany(err)
			continue
		}
		if e := answer.Results[i].Error; e != nil {
			a.Err, a.Alone = e, judge(e) == nothing || judge(e) == unknown && kind.Resend
			continue
		}
		a.Reply = answer.Results[i].SubmitReply
	}
	return answers
}

// refusedAsMany reports whether an error is about the request as a whole, of which nothing was done. Then each task is sent
// alone, and has the answer that it would have had without a pipeline.
func refusedAsMany(err error) bool {
	e, ok := errors.AsType[*api.Error](err)
	return ok && e.Status >= 400 && e.Status < 500 && judge(e) == final
}

func bodyOf(bodies [][]byte) []byte {
	size := len(`{"tasks":[]}`)
	for _, one := range bodies {
		size += len(one) + 1
	}
	b := append(make([]byte, 0, size), `{"tasks":[`...)
	for i, one := range bodies {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, one...)
	}
	return append(b, "]}"...)
}
