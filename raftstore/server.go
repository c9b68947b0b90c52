package raftstore

import (
	"bufio"
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire"
)

// server answers the requests of other nodes.
type server struct {
	store *Store
	ln    net.Listener
	ctx   context.Context

	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	closed bool
	wg     sync.WaitGroup
}

func newServer(ctx context.Context, s *Store, ln net.Listener) *server {
	return &server{store: s, ln: ln, ctx: ctx, conns: map[net.Conn]struct{}{}}
}

func (v *server) run() {
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

func (v *server) close() {
	v.ln.Close()
	v.mu.Lock()
	v.closed = true
	for c := range v.conns {
		c.Close()
	}
	v.mu.Unlock()
	v.wg.Wait()
}

func (v *server) serve(c net.Conn) {
	ctx, cancel := context.WithCancel(v.ctx)
	defer cancel()
	w := newFrameWriter(c, v.store.cfg.RPCTimeout)
	defer w.close()
	r := bufio.NewReaderSize(c, 64<<10)
	_ = c.SetReadDeadline(time.Now().Add(handshakeTimeout))
	f, err := readFrame(r)
	if err != nil || f.kind != kindGreet {
		return
	}
	var g greeting
	if cbor.Unmarshal(f.body, &g) != nil || (g.To != "" && g.To != v.store.identity) {
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	v.wg.Go(w.run)
	for {
		f, err := readFrame(r)
		if err != nil {
			return
		}
		if f.kind == kindPropose {
			v.propose(w, f)
			continue
		}
		v.wg.Go(func() {
			status, body := v.store.answer(ctx, g, f)
			w.put(frame{f.id, status, body})
		})
	}
}

// propose queues forwarded commands. The answer is sent by whoever completes the call: no goroutine waits for it.
func (v *server) propose(w *frameWriter, f frame) {
	ps, err := wire.DecodeProposals(f.body)
	if err != nil {
		// A newer node forwards a command that this build does not know. It was not proposed.
		w.put(frame{f.id, statusRefused, []byte(err.Error())})
		return
	}
	c := newCall(ps, func(c *call) {
		status, body := answerCall(c)
		w.put(frame{f.id, status, body})
	})
	if err := v.store.batch.submit(c); err != nil {
		w.put(frame{f.id, statusOf(err), nil})
	}
}

func answerCall(c *call) (byte, []byte) {
	if c.err != nil {
		return statusOf(c.err), nil
	}
	body, err := wire.EncodeResults(c.results)
	if err != nil {
		return statusUnknown, nil
	}
	return statusOK, body
}

func statusOf(err error) byte {
	switch {
	case errors.Is(err, ErrNotLeader):
		return statusNotLeader
	case errors.Is(err, ErrStalled): // first: it is the other, too
		return statusStalled
	case errors.Is(err, ErrOverloaded):
		return statusOverloaded
	case errors.Is(err, ErrTooLarge):
		return statusTooLarge
	}
	return statusUnknown
}

// termReply is the highest term that the node has seen.
type termReply struct {
	Term uint64 `cbor:"1,keyasint"`
}

type indexReply struct {
	Index uint64 `cbor:"1,keyasint"`
}

// answer handles the requests other than proposals.
func (s *Store) answer(ctx context.Context, from greeting, f frame) (byte, []byte) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.RPCTimeout)
	defer cancel()
	switch f.kind {
	case kindReadIndex:
		index, err := s.readLocal(ctx)
		if err != nil {
			return statusNotLeader, nil
		}
		return encodeAnswer(indexReply{index})
	case kindDigest:
		return handle(f, func(q digestRequest) (digestReply, error) { return s.answerDigest(q), nil })
	case kindDiverged:
		return handle(f, func(d task.Digest) (struct{}, error) { s.toldDiverged(d); return struct{}{}, nil })
	case kindHello:
		return handle(f, func(h hello) (helloReply, error) { return s.answerHello(ctx, h) })
	case kindTerm:
		return handle(f, func(struct{}) (termReply, error) { return termReply{s.raft.CurrentTerm()}, s.failure() })
	case kindRefused:
		return handle(f, func(q refusedRequest) (refusedReply, error) { return s.answerRefused(ctx, q), nil })
	case kindPromise:
		return handle(f, func(q promiseRequest) (promiseReply, error) { return s.answerPromise(q) })
	}
	return statusRefused, []byte("unknown request")
}

func handle[Q, A any](f frame, answer func(Q) (A, error)) (byte, []byte) {
	var q Q
	if err := cbor.Unmarshal(f.body, &q); err != nil {
		return statusRefused, []byte(err.Error())
	}
	a, err := answer(q)
	if err != nil {
		return statusRefused, []byte(err.Error())
	}
	return encodeAnswer(a)
}

func encodeAnswer(a any) (byte, []byte) {
	b, err := cbor.Marshal(a)
	if err != nil {
		return statusRefused, []byte(err.Error())
	}
	return statusOK, b
}
