package raftstore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/taskrt/taskrt/internal/mux"
)

// Kinds of requests. Numbers are part of the wire format: never reuse one.
const (
	kindGreet     byte = 0 // greeting; not answered
	kindPropose   byte = 1 // body: wire.EncodeProposals; answer: wire.EncodeResults
	kindReadIndex byte = 2 // no body; answer: indexReply
	kindDigest    byte = 3 // digestRequest; digestReply
	kindDiverged  byte = 4 // task.Digest of the majority; no answer body
	kindHello     byte = 5 // hello; helloReply
	kindPromise   byte = 6 // promiseRequest; promiseReply
	kindTerm      byte = 7 // empty; termReply
	kindRefused   byte = 8 // refusedRequest; refusedReply
)

// Statuses of answers.
const (
	statusOK         byte = 0
	statusNotLeader  byte = 1 // nothing was proposed
	statusUnknown    byte = 2 // ErrOutcomeUnknown
	statusOverloaded byte = 3 // nothing was proposed
	statusTooLarge   byte = 4 // nothing was proposed
	statusRefused    byte = 5 // body: text
	statusStalled    byte = 6 // nothing was proposed
)

type greeting struct {
	From string `cbor:"1,keyasint"`           // identity
	To   string `cbor:"2,keyasint,omitempty"` // identity; "": whoever lives here
}

// statusError is an answer other than statusOK.
type statusError struct {
	status byte
	text   string
}

func (e *statusError) Error() string {
	return fmt.Sprintf("raftstore: peer refused (%d) %s", e.status, e.text)
}

// notSentError wraps what went wrong before a request left this process.
type notSentError struct{ err error }

func (e *notSentError) Error() string { return e.err.Error() }
func (e *notSentError) Unwrap() error { return e.err }

var (
	errConnLost = errors.New("raftstore: connection lost")
	errGone     = errors.New("raftstore: another node leads")
)

// clients are this node's connections to others: one per identity and address, with many requests in flight.
type clients struct {
	net     Network
	self    string
	timeout time.Duration
	ctx     context.Context // ends with close
	cancel  context.CancelFunc

	mu     sync.Mutex
	open   map[clientKey]*client
	closed bool
	wg     sync.WaitGroup
}

type clientKey struct{ addr, identity string }

func newClients(c *Config, self string) *clients {
	ctx, cancel := context.WithCancel(context.Background())
	return &clients{net: c.Net, self: self, timeout: c.RPCTimeout, ctx: ctx, cancel: cancel, open: map[clientKey]*client{}}
}

// client is one connection.
type client struct {
	owner *clients
	key   clientKey
	ready chan struct{} // closed when w or err is set
	lost  chan struct{} // closed when the connection, once made, has ended
	w     *frameWriter
	err   error

	mu      sync.Mutex
	next    uint64
	pending map[uint64]chan frame // nil: the connection is lost
}

// call sends one request to identity ("": whoever lives there) at addr and returns the body of the answer. It gives up
// when gone is closed (nil: never): the caller has no more use for an answer from there.
func (cs *clients) call(ctx context.Context, addr, identity string, kind byte, body []byte, gone <-chan struct{}) ([]byte, error) {
	timer := time.NewTimer(cs.timeout)
	defer timer.Stop()
	c, err := cs.get(ctx, clientKey{addr, identity}, gone)
	if err != nil {
		return nil, &notSentError{err}
	}
	answer := make(chan frame, 1)
	c.mu.Lock()
	if c.pending == nil {
		c.mu.Unlock()
		return nil, &notSentError{errConnLost}
	}
	c.next++
	id := c.next
	c.pending[id] = answer
	c.mu.Unlock()
	if !c.w.put(frame{id, kind, body}) {
		return nil, &notSentError{errConnLost}
	}
	select {
	case f, ok := <-answer:
		if !ok {
			return nil, errConnLost
		}
		if f.kind != statusOK {
			return nil, &statusError{f.kind, string(f.body)}
		}
		return f.body, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-gone:
		err = errGone
	case <-timer.C:
		c.drop() // a silent connection: the next request tries a new one
		return nil, errConnLost
	}
	c.mu.Lock()
	delete(c.pending, id)
	c.mu.Unlock()
	return nil, err
}

// get returns a connection, dialing if there is none.
func (cs *clients) get(ctx context.Context, key clientKey, gone <-chan struct{}) (*client, error) {
	cs.mu.Lock()
	if cs.closed {
		cs.mu.Unlock()
		return nil, ErrClosed
	}
	c := cs.open[key]
	if c == nil {
		c = &client{owner: cs, key: key, ready: make(chan struct{}), lost: make(chan struct{}), pending: map[uint64]chan frame{}}
		cs.open[key] = c
		cs.wg.Go(c.dial)
	}
	cs.mu.Unlock()
	select {
	case <-c.ready:
		return c, c.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-gone:
		return nil, errGone
	}
}

// dial connects, then reads answers until the connection ends.
func (c *client) dial() {
	ctx, cancel := context.WithTimeout(c.owner.ctx, min(c.owner.timeout, 2*time.Second))
	conn, err := c.owner.net.Dial(ctx, c.key.addr, mux.Propose)
	cancel()
	var greet []byte
	if err == nil {
		greet, err = cbor.Marshal(greeting{From: c.owner.self, To: c.key.identity})
	}
	c.owner.mu.Lock()
	if err == nil && c.owner.closed {
		err = ErrClosed
		conn.Close()
	}
	if err != nil {
		c.forget()
		c.owner.mu.Unlock()
		c.err = err
		close(c.ready)
		return
	}
	c.w = newFrameWriter(conn, c.owner.timeout)
	c.owner.mu.Unlock()
	c.w.put(frame{0, kindGreet, greet})
	c.owner.wg.Go(c.w.run)
	close(c.ready)
	c.read(conn)
	c.drop()
	close(c.lost)
	c.mu.Lock()
	pending := c.pending
	c.pending = nil
	c.mu.Unlock()
	for _, answer := range pending {
		close(answer)
	}
}

func (c *client) read(conn net.Conn) {
	r := bufio.NewReaderSize(conn, 64<<10)
	for {
		f, err := readFrame(r)
		if err != nil {
			return
		}
		c.mu.Lock()
		answer := c.pending[f.id]
		delete(c.pending, f.id)
		c.mu.Unlock()
		if answer != nil {
			answer <- f
		}
	}
}

// drop closes the connection and makes the next request dial.
func (c *client) drop() {
	c.owner.mu.Lock()
	c.forget()
	c.owner.mu.Unlock()
	c.w.close()
}

// forget is under owner.mu.
func (c *client) forget() {
	if c.owner.open[c.key] == c {
		delete(c.owner.open, c.key)
	}
}

func (cs *clients) close() {
	cs.mu.Lock()
	cs.closed = true
	cs.cancel()
	for _, c := range cs.open {
		if c.w != nil {
			c.w.close()
		}
	}
	cs.mu.Unlock()
	cs.wg.Wait()
}

// request is call with CBOR bodies.
func request[A any](ctx context.Context, cs *clients, addr, identity string, kind byte, req any) (A, error) {
	var a A
	body, err := cbor.Marshal(req)
	if err != nil {
		return a, &notSentError{err}
	}
	b, err := cs.call(ctx, addr, identity, kind, body, nil)
	if err != nil {
		return a, err
	}
	if err := cbor.Unmarshal(b, &a); err != nil {
		return a, fmt.Errorf("raftstore: answer of %s: %w", addr, err)
	}
	return a, nil
}
