// Package pipeline puts the submits that are made at the same time into few requests (Config.Pipelined of package client).
package pipeline

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/taskrt/taskrt/api"
)

// These are bounds of a pipeline.
const (
	pipelineTasks   = 1000     // tasks of one request
	pipelineFlights = 2        // requests under way in one lane: one is answered while the next is on its way
	pipelineBytes   = 64 << 20 // of submits that wait or are under way; a Submit beyond it waits for room
	pipelineEach    = 256      // for how many bytes a submit counts, besides its own
)

// Config configures New.
type Config struct {
	// Send sends the bodies of some submits in one request, at least one, and returns the answer to each.
	Send func(ctx context.Context, kind Kind, bodies [][]byte) []Answer
	// Bytes is how many bytes the bodies of one request have together. A single body may have more.
	Bytes int
	// Unsent is the code of the error of a submit that was given up before it was sent.
	Unsent string
}

// Kind is what all submits of one request have in common: whether they may be sent again if the outcome is unknown, whether the short answer is
// enough, and whether they name traces. A server of version 0.1.0 refuses all submits of a request with traces.
type Kind struct{ Resend, Minimal, Traced bool }

// Answer is what came of a submit.
type Answer struct {
	Reply *api.SubmitReply
	Err   error
	Index uint64 // of the log
	Alone bool   // the caller is to send it by itself
}

// Pipeline puts concurrent submits of a client into few requests. If no request is under way, a submit goes at once. Submits that come
// while requests are under way go together, with the next request. So a pipeline adds no delay, and batches are as large as the load makes
// them. It is safe for concurrent use.
type Pipeline struct {
	config Config
	ctx    context.Context // of the requests; it is not a caller's, because each request is for many callers
	cancel context.CancelFunc
	wg     sync.WaitGroup
	room   *semaphore.Weighted // of pipelineBytes

	mu     sync.Mutex
	closed bool
	lanes  map[Kind]*lane
}

type lane struct {
	kind    Kind
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

	answer Answer // when done is closed
}

// flight is a request under way.
type flight struct {
	cancel context.CancelFunc
	live   int // callers that wait for it; guarded by the pipeline's lock
}

// New makes a pipeline. The caller must Close it.
func New(c Config) *Pipeline {
	p := &Pipeline{config: c, room: semaphore.NewWeighted(pipelineBytes), lanes: map[Kind]*lane{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// Close ends the requests under way, and waits until they have ended.
func (p *Pipeline) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cancel()
	p.wg.Wait()
}

// Submit sends the body of a submit together with others of its kind, and returns the answer to it.
func (p *Pipeline) Submit(ctx context.Context, kind Kind, body []byte) Answer {
	it := &pending{body: body, done: make(chan struct{})}
	it.weight = min(int64(len(it.body)+pipelineEach), pipelineBytes)
	if err := p.room.Acquire(ctx, it.weight); err != nil {
		return p.unsent(ctx)
	}
	if !p.enter(kind, it) {
		p.room.Release(it.weight)
		return Answer{Alone: true}
	}
	select {
	case <-it.done:
	case <-ctx.Done():
		if !p.leave(it) {
			return p.unsent(ctx)
		}
		select {
		case <-it.done: // both have happened: there is an answer
		default:
			err := api.NewError(api.CodeOutcomeUnknown, "the request was sent, but its answer was not waited for")
			return Answer{Err: fmt.Errorf("%w: %w", err, context.Cause(ctx))}
		}
	}
	return it.answer
}

// unsent answers a submit that was given up before it was sent.
func (p *Pipeline) unsent(ctx context.Context) Answer {
	err := api.NewError(p.config.Unsent, "the request was given up before it was sent")
	return Answer{Err: fmt.Errorf("%w: %w", err, context.Cause(ctx))}
}

// enter puts a submit into its lane. False means that the pipeline is closed.
func (p *Pipeline) enter(kind Kind, it *pending) bool {
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
func (p *Pipeline) leave(it *pending) (sent bool) {
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
func (p *Pipeline) fly(l *lane) {
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
func (p *Pipeline) take(l *lane, f *flight) (items []*pending) {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken, size := 0, 0
	for _, it := range l.waiting {
		if len(items) == pipelineTasks || len(items) > 0 && size+len(it.body) > p.config.Bytes {
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
func (p *Pipeline) send(ctx context.Context, kind Kind, items []*pending) {
	bodies := make([][]byte, len(items))
	for i, it := range items {
		bodies[i] = it.body
	}
	for i, a := range p.config.Send(ctx, kind, bodies) {
		items[i].answer = a
	}
}
