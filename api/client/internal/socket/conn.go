package socket

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/taskrt/taskrt/api/stream"
)

// These are bounds of one stream.
const (
	// maxLong is how many of the requests under way may be long ones. Others, such as heartbeats, must not stand behind them.
	maxLong = stream.MaxUnderWay / 2
	// batch is after how many bytes of bodies a message gets no more requests.
	batch        = 256 << 10
	writeTimeout = 30 * time.Second
	// quiet is how long nothing may come while answers are due before the node is asked whether it is there.
	quiet       = 15 * time.Second
	pongTimeout = 10 * time.Second
	idleTimeout = time.Minute // after it a stream without requests ends
	goodbyeTime = time.Second // for the reader to learn what a node has said that writes fail to
)

// conn is one stream. A goroutine writes, one reads, and one looks whether the node is there.
type conn struct {
	node   *Node
	ws     *websocket.Conn
	from   From
	ctx    context.Context
	cancel func()
	slots  chan struct{} // has an item for each request whose answer has not come
	long   chan struct{} // has an item for each long one of them
	some   chan struct{} // has an item if there may be something to write

	mu      sync.Mutex
	last    uint64
	queue   []*asked          // not sent
	waiting map[uint64]*asked // sent
	retired bool              // takes no requests any more
	resting bool              // has said goodbye
	over    error             // why the stream has ended
	turns   int               // how many messages have come
}

// asked is a request under way.
type asked struct {
	request stream.Request
	long    bool
	gone    bool // nobody waits any more
	done    chan struct{}
	answer  *stream.Answer // when done
	err     error          // when done
}

func newConn(n *Node, ws *websocket.Conn, from From) *conn {
	c := &conn{
		node: n, ws: ws, from: from, waiting: map[uint64]*asked{},
		slots: make(chan struct{}, stream.MaxUnderWay), long: make(chan struct{}, maxLong), some: make(chan struct{}, 1),
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	ws.SetReadLimit(-1) // as long as the answers of HTTP may be
	go c.write()
	go c.read()
	go c.watch()
	return c
}

// ask is Node.Ask.
func (c *conn) ask(ctx context.Context, q *stream.Request, long bool) (*stream.Answer, error) {
	if err := c.enter(ctx, long); err != nil {
		return nil, err
	}
	x := &asked{request: *q, long: long, done: make(chan struct{})}
	if !c.put(x) {
		c.leave(x)
		return nil, c.unsent()
	}
	select {
	case <-x.done:
		return x.answer, x.err
	case <-ctx.Done():
		return c.giveUp(x, ctx.Err())
	}
}

// enter waits until one more request may be under way. Long ones do not wait: there is HTTP.
func (c *conn) enter(ctx context.Context, long bool) error {
	if long {
		select {
		case c.long <- struct{}{}:
		default:
			return ErrNone
		}
	}
	select {
	case c.slots <- struct{}{}:
		return nil
	case <-c.ctx.Done():
		return c.unsent()
	case <-ctx.Done():
		if long {
			<-c.long
		}
		return fmt.Errorf("%w: %w", ErrUnsent, ctx.Err())
	}
}

// unsent returns why a request that came too late was not sent.
func (c *conn) unsent() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return elsewhere(c.over)
}

// elsewhere says where a request goes that a stream has not carried: to another node if this one stops, otherwise by HTTP.
func elsewhere(over error) error {
	if websocket.CloseStatus(over) == websocket.StatusGoingAway {
		return ErrStops
	}
	return ErrNone
}

// leave makes room for another request.
func (c *conn) leave(x *asked) {
	<-c.slots
	if x.long {
		<-c.long
	}
}

// put hands a request to the writer; false: the stream takes none any more.
func (c *conn) put(x *asked) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over != nil || c.retired {
		return false
	}
	c.last++
	x.request.N = c.last
	c.queue = append(c.queue, x)
	c.wake()
	return true
}

// wake tells the writer that there is something. Under mu.
func (c *conn) wake() {
	select {
	case c.some <- struct{}{}:
	default:
	}
}

// giveUp leaves a request for which nobody waits any more. Its place becomes free when its answer comes, as at the server.
func (c *conn) giveUp(x *asked, cause error) (*stream.Answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-x.done: // just now
		return x.answer, x.err
	default:
	}
	x.gone = true
	if c.waiting[x.request.N] == nil { // it is in the queue
		return nil, fmt.Errorf("%w: %w", ErrUnsent, cause)
	}
	c.queue = append(c.queue, &asked{request: stream.Request{N: x.request.N, Cancel: true}})
	c.wake()
	return nil, fmt.Errorf("%w: %w", ErrLost, cause)
}

// retire lets the stream end when all answers have come.
func (c *conn) retire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.retired = true
	c.rest()
}

// rest ends a retired stream that has nothing to do any more. Under mu.
func (c *conn) rest() {
	if c.retired && !c.resting && c.over == nil && len(c.waiting) == 0 && len(c.queue) == 0 {
		c.resting = true
		go func() { _ = c.ws.Close(websocket.StatusNormalClosure, "") }() // the reader meets its end
	}
}

// write writes requests until the stream ends.
func (c *conn) write() {
	var text bytes.Buffer
	for {
		select {
		case <-c.some:
		case <-c.ctx.Done():
			return
		}
		for requests := c.take(); len(requests) > 0; requests = c.take() {
			text.Reset()
			err := stream.CBOR{}.AppendRequests(&text, requests)
			if err == nil {
				ctx, cancel := context.WithTimeout(c.ctx, writeTimeout)
				err = c.ws.Write(ctx, websocket.MessageBinary, text.Bytes())
				cancel()
			}
			if err != nil {
				c.broke(err)
				return
			}
			if text.Cap() > 4*batch {
				text = bytes.Buffer{} // a large body must not be held for good
			}
		}
	}
}

// broke ends the stream after a write that failed, unless the reader ends it. A node that has said goodbye takes nothing any more, and only the
// reader learns what this means for requests without an answer.
func (c *conn) broke(why error) {
	patience := time.NewTimer(goodbyeTime)
	defer patience.Stop()
	select {
	case <-c.ctx.Done():
	case <-patience.C:
		c.end(why)
	}
}

// take takes requests for one message. There are fewer than a server takes: those under way, each perhaps with its cancel.
func (c *conn) take() []stream.Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	var requests []stream.Request
	n := 0
	for size := 0; n < len(c.queue) && size < batch; n++ {
		x := c.queue[n]
		switch {
		case x.request.Cancel:
		case x.gone:
			c.leave(x)
			continue
		default:
			c.waiting[x.request.N] = x
		}
		requests = append(requests, x.request)
		size += len(x.request.Body)
	}
	c.queue = append(c.queue[:0], c.queue[n:]...)
	c.rest()
	return requests
}

// read reads answers until the stream ends.
func (c *conn) read() {
	var text bytes.Buffer
	for {
		_, r, err := c.ws.Reader(c.ctx)
		if err == nil {
			text.Reset()
			_, err = io.Copy(&text, r)
		}
		var answers []stream.Answer
		if err == nil {
			answers, err = stream.CBOR{}.Answers(text.Bytes())
		}
		if err != nil {
			c.end(err)
			return
		}
		c.give(answers)
		if text.Cap() > 4*batch {
			text = bytes.Buffer{}
		}
	}
}

// give hands answers to the callers that wait for them.
func (c *conn) give(answers []stream.Answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turns++
	for i := range answers {
		x := c.waiting[answers[i].N]
		if x == nil {
			continue // nobody asked
		}
		delete(c.waiting, answers[i].N)
		x.answer = &answers[i]
		close(x.done)
		c.leave(x)
	}
	c.rest()
}

// end ends the stream, once. Requests that were not sent go by HTTP, and so do those of which the server says that it has not begun them. All of them go
// to another node if this one stops.
func (c *conn) end(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over != nil {
		return
	}
	c.over = why
	unsent, lost := elsewhere(why), fmt.Errorf("%w: %w", ErrLost, why)
	switch websocket.CloseStatus(why) {
	case websocket.StatusGoingAway, stream.TokenEnded:
		lost = unsent
	}
	for _, x := range c.waiting {
		x.err = lost
		close(x.done)
	}
	for _, x := range c.queue {
		if !x.request.Cancel {
			x.err = unsent
			close(x.done)
		}
	}
	c.waiting, c.queue = nil, nil
	c.cancel()
	go func() {
		_ = c.ws.CloseNow()
		c.node.forget(c, true)
	}()
}

// served reports whether the node has answered anything.
func (c *conn) served() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.turns > 0
}

// watch asks the node whether it is there when answers are due and nothing comes, and ends a stream that nobody uses.
func (c *conn) watch() {
	every := time.NewTicker(quiet)
	defer every.Stop()
	idle, before := time.Duration(0), 0
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-every.C:
		}
		c.mu.Lock()
		waits, turns := len(c.waiting) > 0, c.turns
		c.mu.Unlock()
		switch {
		case turns != before:
			idle, before = 0, turns
		case waits:
			ctx, cancel := context.WithTimeout(c.ctx, pongTimeout)
			err := c.ws.Ping(ctx)
			cancel()
			if err != nil {
				c.end(fmt.Errorf("the node does not answer pings: %w", err))
				return
			}
		default:
			if idle += quiet; idle >= idleTimeout {
				c.node.forget(c, false)
				c.retire()
			}
		}
	}
}
