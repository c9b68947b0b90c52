package socket

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/stream"
)

// batch is how many bytes of answers go into one message, if there is more than one.
const batch = 64 << 10

// pending is a request that has got under way. The zero value says that the goroutine is not needed any more.
type pending struct {
	ctx     context.Context
	request *stream.Request
	refusal error // nil: it is to be done
}

// errClosed says that nothing is begun any more.
var errClosed = errors.New("socket: the stream is closed")

// conn is one stream. A goroutine reads messages, one writes answers, one pings, and each request under way has one, which does the next request
// afterwards: its stack has grown already.
type conn struct {
	config   Config
	group    *Group
	ws       *websocket.Conn
	form     stream.Form
	template *http.Request // the handshake: what all requests have from it
	ctx      context.Context
	cancel   func()        // ends the connection at once
	large    chan struct{} // has an item while a request has an answer of more than small bytes
	watches  chan struct{} // has an item for each watch
	silent   chan struct{} // closed when nothing is written any more
	requests sync.WaitGroup
	work     chan pending // received by goroutines that have answered a request

	mu       sync.Mutex
	changed  sync.Cond
	underWay int                           // requests whose answers have not been written
	running  map[uint64]context.CancelFunc // those that have no answer, by their numbers
	ready    []*answer                     // to be written
	unwanted unwanted
	turns    int   // how often something of a message has come
	away     bool  // the reader is not waiting for a message
	refusal  error // of new requests; nil: there is none
	closed   bool  // nothing is begun any more
}

func newConn(r *http.Request, ws *websocket.Conn, form stream.Form, config Config, group *Group) *conn {
	ctx, cancel := context.WithCancel(r.Context())
	c := &conn{
		config: config, group: group, ws: ws, form: form, template: templateOf(r), ctx: ctx,
		large: make(chan struct{}, 1), watches: make(chan struct{}, stream.MaxWatches), work: make(chan pending), silent: make(chan struct{}), running: map[uint64]context.CancelFunc{},
	}
	c.changed.L = &c.mu
	c.cancel = func() {
		cancel()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.closed = true
		c.changed.Broadcast()
	}
	return c
}

// serve returns when the connection has ended and nothing of it runs. The context ends with the token.
func (c *conn) serve(token context.Context) {
	var own sync.WaitGroup
	own.Go(c.write)
	own.Go(c.ping)
	own.Go(func() {
		select {
		case <-c.config.Stopping.Done():
			c.drain(api.NewError(api.CodeNotReady, "this node is stopping"))
		case <-token.Done():
			defer time.AfterFunc(expelTime, c.cancel).Stop()
			c.drain(context.Cause(token))
		case <-c.ctx.Done():
		}
	})
	var why closing
	if err := c.read(); errors.As(err, &why) {
		_ = c.ws.Close(why.code, why.reason)
	} else if err == nil {
		<-c.ctx.Done() // drain ends it
	}
	c.cancel()
	_ = c.ws.CloseNow()
	c.requests.Wait()
	own.Wait()
	c.count(-c.underWay)
}

// count notes that requests have got under way, or that answers have been written. Under mu.
func (c *conn) count(n int) {
	c.underWay += n
	c.group.underWay.Add(int64(n))
}

// waitForRoom returns when another request may get under way; false: nothing is begun any more. Meanwhile nothing is read: a client that
// sends more than it takes answers waits in its own writes.
func (c *conn) waitForRoom() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.underWay >= stream.MaxUnderWay && !c.closed {
		c.away = true
		c.changed.Wait()
	}
	c.away = false
	return !c.closed
}

// arrived notes that a message has begun.
func (c *conn) arrived() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turns++
	c.away = true
}

// heard returns how often something has come, and whether the reader waits for a message.
func (c *conn) heard() (turns int, listening bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.turns, !c.away
}

// begin lets a request get under way.
func (c *conn) begin(q *stream.Request) error {
	if q.Cancel {
		return c.giveUp(q)
	}
	if !c.waitForRoom() {
		return errClosed
	}
	ctx, cancel := context.WithCancel(c.ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		cancel()
		return errClosed
	}
	if c.running[q.N] != nil {
		cancel()
		return closing{websocket.StatusPolicyViolation, "a request with this number is under way"}
	}
	c.running[q.N] = cancel
	c.unwanted.take(q.N) // whoever uses a number again has had the former answer
	c.count(1)
	next := pending{ctx, q, c.refusal}
	select {
	case c.work <- next:
	default:
		c.requests.Go(func() { c.run(next) })
	}
	return nil
}

// run answers requests, one after the other.
func (c *conn) run(next pending) {
	for next.request != nil {
		c.answer(next.ctx, next.request, next.refusal)
		select {
		case next = <-c.work:
		case <-c.ctx.Done():
			return
		}
	}
}

// rest lets the goroutines go that have nothing to do.
func (c *conn) rest() {
	for {
		select {
		case c.work <- pending{}:
		default:
			return
		}
	}
}

// giveUp ends a request that nobody waits for any more. It gets its answer all the same: the request may have been done. What can be undone of a
// request whose answer is on its way is undone.
func (c *conn) giveUp(q *stream.Request) error {
	if q.Method != "" || q.Path != "" || q.Body != nil || q.Key != "" || q.Prefer != "" || q.Trace != "" || q.State != "" || q.Watch || q.After != nil {
		return closing{websocket.StatusPolicyViolation, "a request with cancel says nothing else but its number"}
	}
	c.mu.Lock()
	cancel, undo := c.running[q.N], c.unwanted.take(q.N)
	c.mu.Unlock()
	if cancel != nil { // else its answer is on its way
		cancel()
	}
	if undo != nil {
		undo()
	}
	return nil
}

// answer lets the handler answer a request.
func (c *conn) answer(ctx context.Context, q *stream.Request, refusal error) {
	a := &answer{conn: c, n: q.N, ctx: ctx, header: http.Header{}}
	defer a.finish()
	r, err := c.request(context.WithValue(ctx, overStream{}, a), q)
	if err == nil {
		defer r.Body.Close()
		err = refusal
	} else {
		defer c.bodyOf(q).Close()
	}
	if err == nil && q.Watch {
		select {
		case c.watches <- struct{}{}:
			defer func() { <-c.watches }()
		default:
			err = api.NewError(api.CodeOverloaded, "a stream has at most %d watches; end one, or begin another stream", stream.MaxWatches)
		}
	}
	if err != nil {
		c.config.Problem(a, c.template.WithContext(ctx), err)
		return
	}
	defer func() {
		if p := recover(); p != nil { // the handler has said so: half an answer must not look like a whole one
			a.reset()
			c.config.Problem(a, r, api.NewError(api.CodeInternal, "the request failed inside the server; its log says why"))
		}
	}()
	c.config.Handler.ServeHTTP(a, r)
}

// finished puts an answer among those that are ready.
func (c *conn) finished(a *answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.running[a.n]; cancel != nil {
		cancel()
		delete(c.running, a.n)
	}
	c.put(a)
}

// put puts an answer, or a part of one, among what is ready. Under mu.
func (c *conn) put(a *answer) {
	c.ready = append(c.ready, a)
	c.changed.Broadcast()
}

// write writes answers until the connection ends.
func (c *conn) write() {
	defer close(c.silent)
	var text []byte
	for {
		c.mu.Lock()
		for len(c.ready) == 0 && c.ctx.Err() == nil {
			c.changed.Wait()
		}
		if c.ctx.Err() != nil {
			c.mu.Unlock()
			return
		}
		next := c.take()
		c.mu.Unlock()
		var err error
		if text, err = c.send(text[:0], next); err != nil {
			c.cancel()
			return
		}
		c.mu.Lock()
		for _, a := range next {
			if a.events == nil {
				c.count(-1)
			}
		}
		c.changed.Broadcast()
		c.mu.Unlock()
		if cap(text) > 4*batch {
			text = nil // a large answer must not be held for good
		}
	}
}

// take takes answers for one message. Under mu.
func (c *conn) take() []*answer {
	n, size := 0, 0
	for n < len(c.ready) && (n == 0 || size+c.ready[n].size() <= batch) {
		size += c.ready[n].size()
		n++
	}
	next := c.ready[:n:n]
	c.ready = c.ready[n:]
	return next
}

// send writes a message with answers.
func (c *conn) send(text []byte, next []*answer) ([]byte, error) {
	answers := make([]stream.Answer, len(next))
	for i, a := range next {
		answers[i] = a.frame()
	}
	text, err := c.form.AppendAnswers(text, answers)
	if err != nil {
		return text, err
	}
	kind := websocket.MessageText
	if c.form.Binary() {
		kind = websocket.MessageBinary
	}
	ctx, cancel := context.WithTimeout(c.ctx, writeTimeout)
	defer cancel()
	if err := c.ws.Write(ctx, kind, text); err != nil {
		return text, err
	}
	for _, a := range next {
		a.written()
	}
	return text, nil
}

// drain ends a connection in order: new requests are refused, those under way get their answers, and then the client is told why. What has no
// answer by then has not been begun.
func (c *conn) drain(why error) {
	c.mu.Lock()
	c.refusal = why
	for len(c.running) > 0 && !c.closed {
		c.changed.Wait()
	}
	already := c.closed
	c.closed = true
	c.changed.Broadcast()
	for c.underWay > 0 && c.ctx.Err() == nil {
		c.changed.Wait()
	}
	c.mu.Unlock()
	if !already {
		code, reason := websocket.StatusGoingAway, "go elsewhere"
		if api.CodeOf(why) == api.CodeUnauthenticated {
			code, reason = stream.TokenEnded, "the token no longer holds"
		}
		_ = c.ws.Close(code, reason)
	}
	c.cancel()
}
