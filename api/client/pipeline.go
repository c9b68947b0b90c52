package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
	"golang.org/x/sync/semaphore"
)

// These are bounds of a pipeline.
const (
	pipelineTasks   = 1000     // tasks of one request
	pipelineFlights = 2        // requests under way in one lane: one is answered while the next is on its way
	pipelineBytes   = 64 << 20 // of submits that wait or are under way; a Submit beyond it waits for room
	pipelineEach    = 256      // for how many bytes a submit counts, besides its own
)

// pipeline puts concurrent submits of a client into few requests (Config.Pipelined). If no request is under way, a submit goes
// at once. Submits that come while requests are under way go together, with the next request. So a pipeline adds no delay, and
// batches are as large as the load makes them.
type pipeline struct {
	client *Client
	ctx    context.Context // of the requests; it is not a caller's, because each request is for many callers
	cancel context.CancelFunc
	wg     sync.WaitGroup
	room   *semaphore.Weighted // of pipelineBytes

	mu     sync.Mutex
	closed bool
	lanes  map[laneKind]*lane
}

// laneKind is what submits have in common that go together: whether they may be sent again if the outcome is unknown, and
// whether the short answer is enough.
type laneKind struct{ resend, minimal bool }

type lane struct {
	kind    laneKind
	flights int
	waiting []*pending // the oldest first
}

// pending is a submit in a lane.
type pending struct {
	body   []byte
	weight int64
	done   chan struct{}

	left   bool    // its caller has gone; guarded by the pipeline's lock, as flight is
	flight *flight // nil: the submit waits

	// When done is closed:
	reply *api.SubmitReply
	err   error
	index uint64
	alone bool // the caller is to send it by itself
}

// flight is a request under way.
type flight struct {
	cancel context.CancelFunc
	live   int // callers that wait for it; guarded by the pipeline's lock
}

func newPipeline(c *Client) *pipeline {
	p := &pipeline{client: c, room: semaphore.NewWeighted(pipelineBytes), lanes: map[laneKind]*lane{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// close ends the requests under way, and waits until they have ended.
func (p *pipeline) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cancel()
	p.wg.Wait()
}

// submit is Client.Submit for a request that has been checked. alone says that the caller is to send the request by itself.
func (p *pipeline) submit(ctx context.Context, r *api.SubmitRequest) (reply *api.SubmitReply, alone bool, err error) {
	it := &pending{body: codec.AppendRequest(nil, r), done: make(chan struct{})}
	it.weight = min(int64(len(it.body)+pipelineEach), pipelineBytes)
	if err := p.room.Acquire(ctx, it.weight); err != nil {
		return nil, false, unsentYet(ctx)
	}
	if !p.enter(laneKind{resendable(r), r.Minimal}, it) {
		p.room.Release(it.weight)
		return nil, true, nil
	}
	select {
	case <-it.done:
	case <-ctx.Done():
		if !p.leave(it) {
			return nil, false, unsentYet(ctx)
		}
		select {
		case <-it.done: // both have happened: there is an answer
		default:
			err := api.NewError(api.CodeOutcomeUnknown, "the request was sent, but its answer was not waited for")
			return nil, false, fmt.Errorf("%w: %w", err, context.Cause(ctx))
		}
	}
	api.SetIndex(ctx, it.index)
	return it.reply, it.alone, it.err
}

// unsentYet returns the error of a submit that was given up before it was sent.
func unsentYet(ctx context.Context) error {
	return fmt.Errorf("%w: %w", api.NewError(CodeUnreachable, "the request was given up before it was sent"), context.Cause(ctx))
}

// enter puts a submit into its lane. False means that the client is closed.
func (p *pipeline) enter(kind laneKind, it *pending) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	l := p.lanes[kind]
	if l == nil {
		l = &lane{kind: kind}
		p.lanes[kind] = l
	}
	l.waiting = append(l.waiting, it)
	if l.flights < pipelineFlights {
		l.flights++
		p.wg.Go(func() { p.fly(l) })
	}
	return true
}

// leave notes that a caller has gone. sent says that its submit is under way. leave gives up a request for which nobody waits
// any more.
func (p *pipeline) leave(it *pending) (sent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	it.left = true
	if it.flight == nil {
		it.body = nil
		p.room.Release(it.weight)
		return false
	}
	if it.flight.live--; it.flight.live == 0 {
		it.flight.cancel()
	}
	return true
}

// fly sends the submits that wait in a lane, until none waits.
func (p *pipeline) fly(l *lane) {
	for {
		ctx, cancel := context.WithCancel(p.ctx)
		items := p.take(l, &flight{cancel: cancel})
		if len(items) > 0 {
			p.send(ctx, l.kind, items)
		}
		cancel()
		if len(items) == 0 {
			return
		}
		for _, it := range items {
			p.room.Release(it.weight)
			close(it.done)
		}
	}
}

// take takes the next submits of a lane for a flight. If there are none, the flight is over.
func (p *pipeline) take(l *lane, f *flight) (items []*pending) {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken, size := 0, 0
	for _, it := range l.waiting {
		if len(items) == pipelineTasks || len(items) > 0 && size+len(it.body) > p.client.config.BatchBytes {
			break
		}
		taken++
		if it.left {
			continue
		}
		size += len(it.body) + 1
		it.flight = f
		items = append(items, it)
	}
	clear(l.waiting[:taken])
	if l.waiting = l.waiting[taken:]; len(l.waiting) == 0 {
		l.waiting = nil
	}
	if f.live = len(items); f.live == 0 {
		l.flights--
	}
	return items
}

// send sends submits in one request, and notes the answer to each.
func (p *pipeline) send(ctx context.Context, kind laneKind, items []*pending) {
	ctx, meta := api.WithMeta(ctx)
	k := call{method: http.MethodPost, path: "/v1/tasks", contentType: codec.JSONMedia, resend: kind.resend, minimal: kind.minimal}
	if len(items) == 1 {
		var reply api.SubmitReply
		k.body = items[0].body
		_, err := p.client.do(ctx, k, &reply)
		items[0].index = meta.Index()
		if items[0].err = err; err == nil {
			items[0].reply = &reply
		}
		return
	}
	k.body = bodyOf(items)
	var answer codec.SubmitResults
	_, err := p.client.do(ctx, k, &answer)
	if err == nil && len(answer.Results) != len(items) {
		err = api.NewError(api.CodeInternal, "%d answers to %d tasks", len(answer.Results), len(items))
	}
	for i, it := range items {
		it.index = meta.Index()
		if err != nil {
			it.err, it.alone = err, refusedAsMany(err)
			continue
		}
		if e := answer.Results[i].Error; e != nil {
			it.err, it.alone = e, judge(e) == nothing || judge(e) == unknown && kind.resend
			continue
		}
		it.reply = answer.Results[i].SubmitReply
	}
}

// refusedAsMany reports whether an error is about the request as a whole, of which nothing was done. Then each task is sent
// alone, and has the answer that it would have had without a pipeline.
func refusedAsMany(err error) bool {
	e, ok := errors.AsType[*api.Error](err)
	return ok && e.Status >= 400 && e.Status < 500 && judge(e) == final
}

func bodyOf(items []*pending) []byte {
	size := len(`{"tasks":[]}`)
	for _, it := range items {
		size += len(it.body) + 1
	}
	b := append(make([]byte, 0, size), `{"tasks":[`...)
	for i, it := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, it.body...)
	}
	return append(b, "]}"...)
}
