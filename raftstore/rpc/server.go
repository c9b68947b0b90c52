package rpc

import (
	"bufio"
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/taskrt/taskrt/internal/mux"
)

// Handler answers requests.
type Handler interface {
	// Propose takes forwarded commands. Any goroutine sends the reply, once. Propose must not block, because the
	// connection waits for it.
	Propose(body []byte, r Reply)
	// Answer answers any other request. Each request has a goroutine of its own. From is the identity of the node that asks.
	Answer(ctx context.Context, from string, kind byte, body []byte) (status byte, answer []byte)
}

// Reply is the place that the answer to a request goes to.
type Reply struct {
	w  *frameWriter
	id uint64
}

// Send sends the answer. It does not wait for the peer.
func (r Reply) Send(status byte, body []byte) { r.w.put(frame{r.id, status, body}) }

// handshakeTimeout bounds how long a new connection may take to say whom it is for.
const handshakeTimeout = 5 * time.Second

// Server answers the requests of other nodes.
type Server struct {
	handler Handler
	self    string // identity
	timeout time.Duration
	ln      net.Listener
	ctx     context.Context

	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	closed bool
	wg     sync.WaitGroup
}

// NewServer returns a server of the node whose identity is self. timeout bounds a request, and the writing of an
// answer.
func NewServer(ctx context.Context, ln net.Listener, self string, timeout time.Duration, h Handler) *Server {
	return &Server{handler: h, self: self, timeout: timeout, ln: ln, ctx: ctx, conns: map[net.Conn]struct{}{}}
}

// Run serves until Close.
func (v *Server) Run() {
	for {
		c, err := v.ln.Accept()
		if err != nil {
			if v.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			select {
			case <-v.ctx.Done():
				return
			case <-time.After(50 * time.Millisecond):
			}
			continue
		}
		v.mu.Lock()
		if v.closed {
			v.mu.Unlock()
			c.Close()
			return
		}
		v.conns[c] = struct{}{}
		v.wg.Go(func() {
			v.serve(c)
			v.mu.Lock()
			delete(v.conns, c)
			v.mu.Unlock()
		})
		v.mu.Unlock()
	}
}

// Close closes all connections, and waits for the requests that are being answered.
func (v *Server) Close() {
	v.ln.Close()
	v.mu.Lock()
	v.closed = true
	for c := range v.conns {
		c.Close()
	}
	v.mu.Unlock()
	v.wg.Wait()
}

func (v *Server) serve(c net.Conn) {
	ctx, cancel := context.WithCancel(v.ctx)
	defer cancel()
	w := newFrameWriter(c, v.timeout)
	defer w.close()
	r := bufio.NewReaderSize(c, 64<<10)
	_ = c.SetReadDeadline(time.Now().Add(handshakeTimeout))
	f, err := readFrame(r)
	if err != nil || f.kind != kindGreet {
		return
	}
	var g greeting
	if cbor.Unmarshal(f.body, &g) != nil || (g.To != "" && g.To != v.self) || !mux.MayBe(c, mux.Node, g.From) {
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	v.wg.Go(w.run)
	for {
		f, err := readFrame(r)
		if err != nil {
			return
		}
		if f.kind == KindPropose {
			v.handler.Propose(f.body, Reply{w, f.id})
			continue
		}
		v.wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, v.timeout)
			defer cancel()
			status, body := v.handler.Answer(ctx, g.From, f.kind, f.body)
			w.put(frame{f.id, status, body})
		})
	}
}

// Handle answers a request with CBOR bodies.
func Handle[Q, A any](body []byte, answer func(Q) (A, error)) (byte, []byte) {
	var q Q
	if err := cbor.Unmarshal(body, &q); err != nil {
		return StatusRefused, []byte(err.Error())
	}
	a, err := answer(q)
	if err != nil {
		return StatusRefused, []byte(err.Error())
	}
	return Encode(a)
}

// Encode returns an answer with a CBOR body.
func Encode(a any) (byte, []byte) {
	b, err := cbor.Marshal(a)
	if err != nil {
		return StatusRefused, []byte(err.Error())
	}
	return StatusOK, b
}
