package child

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/taskrt/taskrt/internal/subproc"
	"github.com/taskrt/taskrt/worker"
	"github.com/taskrt/taskrt/worker/stream"
)

func isGone(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.ECONNRESET)
}

// accept begins a call. It refuses a call beyond maxCalls.
func (c *process) accept(m subproc.Message) error {
	if len(m.Files) != 1 {
		m.CloseFiles()
		return fmt.Errorf("%d files with a call", len(m.Files))
	}
	conn, err := subproc.Open(m.Files[0])
	if err != nil {
		return err
	}
	select {
	case c.calls <- struct{}{}:
	default:
		_ = conn.Close() // to the child the call has failed
		return nil
	}
	c.wg.Go(func() {
		defer func() { <-c.calls }()
		defer func() { _ = conn.Close() }() // everything has been said
		defer context.AfterFunc(c.ctx, func() { _ = conn.Close() })()
		c.serve(m, conn)
	})
	return nil
}

// serve answers one call.
func (c *process) serve(m subproc.Message, conn *subproc.Conn) {
	if m.Kind == callDial {
		c.dial(m, conn)
		return
	}
	var data []byte
	if m.Kind == callPut {
		size, err := decode[int64](m)
		if err != nil || size < 0 || size > maxPut || c.puts.Acquire(c.ctx, size) != nil {
			return
		}
		defer c.puts.Release(size)
		more, err := conn.Recv(int(size))
		if err != nil {
			return // the child has given up, or sends too much
		}
		more.CloseFiles()
		data = more.Body
	}
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	var left sync.WaitGroup
	leaves := func() { // nothing more comes but the end
		left.Go(func() {
			_, _ = conn.Raw().Read(make([]byte, 1))
			cancel()
		})
	}
	var err error
	switch m.Kind {
	case callSecret, callTasks, callLimits, callHTTP:
		err = c.outside(ctx, m, conn, leaves)
	default:
		leaves()
		err = c.answer(ctx, m, data, conn)
	}
	if err != nil && !isGone(err) {
		err = send(conn, answerFailed, failureOf(err))
	}
	if err != nil && c.ctx.Err() == nil && !isGone(err) {
		c.p.log.Debug("a call of the guests' process was not answered", "error", err)
	}
	_ = conn.Close() // ends the reader
	left.Wait()
}

// answer does what a call asks for, and sends the answer. It does not send the error that it returns.
func (c *process) answer(ctx context.Context, m subproc.Message, data []byte, conn *subproc.Conn) error {
	w := c.p.cfg.Worker
	switch m.Kind {
	case callModule:
		call, err := decode[moduleCall](m)
		if err != nil {
			return err
		}
		wasm, err := w.Modules.Fetch(ctx, call.Digest, call.Size)
		if err != nil {
			return err
		}
		c.mu.Lock()
		c.fetched[call.Digest] = true
		c.mu.Unlock()
		return sendContent(conn, wasm)
	case callBlob:
		digest, err := decode[string](m)
		if err != nil {
			return err
		}
		b, err := w.Blobs.Open(ctx, digest)
		if err != nil {
			return err
		}
		defer b.Close()
		return sendBlob(conn, b)
	case callPut:
		digest, err := w.Blobs.Put(ctx, data)
		if err != nil {
			return err
		}
		return send(conn, answerDone, digest)
	case callCompile:
		call, err := decode[moduleCall](m)
		if err == nil && c.p.cfg.Compile != nil {
			err = c.p.cfg.Compile(ctx, call.Digest, call.Size)
		}
		if err != nil {
			return err
		}
		return send(conn, answerDone, nil)
	}
	return fmt.Errorf("child: no call %q", m.Kind)
}

// sendContent hands bytes over as a file.
func sendContent(conn *subproc.Conn, data []byte) error {
	f, err := subproc.Content(data)
	if err != nil {
		return err
	}
	defer f.Close()
	return conn.Send(answerDone, nil, f)
}

// lender is a blob that is a file on a disk; *blob.File is one.
type lender interface {
	// Lend checks all bytes and calls use with the file. It returns false if there is no file.
	Lend(use func(*os.File) error) (lent bool, err error)
}

// sendBlob hands a blob over as a file. It checks all bytes before, because nobody looks at them again.
func sendBlob(conn *subproc.Conn, b worker.Blob) error {
	if l, ok := b.(lender); ok {
		lent, err := l.Lend(func(f *os.File) error { return conn.Send(answerDone, nil, f) })
		if lent || err != nil {
			return err
		}
	}
	data := make([]byte, b.Size())
	if n, err := b.ReadAt(data, 0); n < len(data) {
		return fmt.Errorf("child: read a blob: %w", err)
	}
	return sendContent(conn, data)
}

// dial connects to the leader and carries frames both ways until either end closes.
func (c *process) dial(m subproc.Message, conn *subproc.Conn) {
	var call dialCall
	if err := json.Unmarshal(m.Body, &call); err != nil {
		return
	}
	dialer := c.p.cfg.Worker.Dial
	if c.leases.wasTold(call.Redirect) { // a child must not choose to whom this process connects
		dialer.Redirect(call.Redirect)
	}
	ctx, cancel := context.WithTimeout(c.ctx, dialTimeout)
	leader, err := dialer.Dial(ctx)
	cancel()
	if err != nil {
		_ = send(conn, answerFailed, failureOf(err)) // the child may not wait any longer
		return
	}
	defer leader.Close()
	select {
	case c.streams <- struct{}{}:
		defer func() { <-c.streams }()
	default:
		_ = send(conn, answerFailed, failureOf(errTooManyStreams))
		return
	}
	defer context.AfterFunc(c.ctx, func() { _ = leader.Close() })()
	if err := conn.Send(answerDone, nil); err != nil {
		return
	}
	if err := c.relay(conn.Raw(), leader); err != nil {
		c.p.log.Error("a stream of the guests' process", "error", err)
	}
}

var errTooManyStreams = errors.New("child: too many streams are open")

// relay carries frames until either end closes, and then closes both. What the child says is looked at, and what the leader says is read
// along.
func (c *process) relay(child, leader net.Conn) error {
	l := &line{c: c, sent: map[uint64]time.Duration{}}
	along, err := stream.NewAlong(l.see)
	if err != nil {
		return err
	}
	gate, err := stream.NewGate(l.look, func(n int) (func(), error) {
		return func() { c.frames.Release(int64(n)) }, c.frames.Acquire(c.ctx, int64(n))
	})
	if err != nil {
		return err
	}
	closeBoth := func() { // whatever ends it, both ends learn of it
		_ = child.Close()
		_ = leader.Close()
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		defer closeBoth()
		_, _ = io.Copy(child, io.TeeReader(leader, along))
	})
	wg.Go(func() {
		defer closeBoth()
		if err := gate.Carry(steady{leader}, child); errors.Is(err, stream.ErrHeld) {
			c.broke(err)
		}
	})
	wg.Wait()
	return nil
}
