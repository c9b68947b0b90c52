package blob

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/taskrt/taskrt/internal/mux"
)

// maxBusy is how many requests of peers are worked on at a time; maxStoring is how many requests of workers.
const (
	maxBusy    = 16
	maxStoring = 8
)

// idleTimeout ends a connection on which the peer asks nothing.
const idleTimeout = time.Minute

// Serve answers peers until Close; then it returns nil.
func (s *Store) Serve(ln net.Listener) error {
	if !s.enter() {
		_ = ln.Close()
		return nil
	}
	defer s.wg.Done()
	s.mu.Lock()
	s.lns[ln] = struct{}{}
	s.mu.Unlock()
	if s.ctx.Err() != nil {
		_ = ln.Close()
	}
	for {
		c, err := ln.Accept()
		if err != nil {
			if s.ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("blob: accept: %w", err)
		}
		s.wg.Go(func() { s.serve(c) })
	}
}

// request is one question of a peer, on its connection.
type request struct {
	s      *Store
	op     byte
	digest string
	r      io.Reader
	w      *bufio.Writer
}

func (s *Store) serve(c net.Conn) {
	defer c.Close()
	stop := context.AfterFunc(s.ctx, func() { _ = c.Close() })
	defer stop()
	who, proven := mux.PrincipalOf(c)
	pc := timed(c, s.cfg.Timeout)
	r, w := bufio.NewReader(pc), bufio.NewWriterSize(pc, pieceBytes)
	for {
		pc.restart(idleTimeout)
		var head [33]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return
		}
		q := request{s: s, op: head[0], digest: hex.EncodeToString(head[1:]), r: r, w: w}
		if proven && who.Role != mux.Node && !forWorkers(q.op) {
			mux.Refuse(c, fmt.Errorf("%s %q makes request %d of files, which is for nodes", who.Role, who.ID, q.op))
			return
		}
		if err := q.answerInTurn(pc); err != nil {
			return
		}
	}
}

// forWorkers reports whether a request is one of those that a worker needs. The others are for nodes: by them a file would come onto a disk, or be
// said to be there, of which the log knows nothing (SPEC A2).
func forWorkers(op byte) bool { return op == opGet || op == opGetFrom || op == opPutFor }

// answerInTurn answers once not too many other requests are being answered.
func (q *request) answerInTurn(c *timedConn) error {
	turn := q.s.busy
	if q.op == opPutFor {
		turn = q.s.storing
	}
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-q.s.ctx.Done():
		return q.s.ctx.Err()
	}
	c.restart(q.s.cfg.Timeout)
	if err := q.answer(); err != nil {
		return err
	}
	c.restart(q.s.cfg.Timeout)
	return q.w.Flush()
}

// answer reads the rest of the request and writes its answer. An error ends the connection.
func (q *request) answer() error {
	var index uint64
	var err error
	if q.op == opPutAt || q.op == opHasAt {
		if index, err = readNumber(q.r); err != nil {
			return err
		}
	}
	switch q.op {
	case opGet:
		return q.get(0)
	case opGetFrom:
		offset, err := readNumber(q.r)
		if err != nil {
			return err
		}
		return q.get(offset)
	case opHas, opHasAt:
		if err = q.s.applied(q.s.ctx, index); err == nil {
			err = q.s.VerifyNow(q.digest)
		}
		return q.status(err)
	case opPut, opPutAt:
		return q.receive(func(b *Staged) error {
			if err := q.s.applied(q.s.ctx, index); err != nil {
				return err
			}
			return b.keep()
		})
	case opPutFor:
		return q.receive(func(b *Staged) error {
			if q.s.cfg.PutFor == nil {
				return errors.New("blob: this node stores for nobody")
			}
			return q.s.cfg.PutFor(q.s.ctx, b)
		})
	}
	return fmt.Errorf("blob: unknown request %d", q.op)
}

func (q *request) status(err error) error {
	if err != nil {
		q.s.cfg.Logger.Debug("cannot do what a peer asks", "op", q.op, "digest", q.digest, "err", err)
	}
	return q.w.WriteByte(statusOf(err))
}

// get sends a file from an offset on. If a piece of the file is torn, the connection ends there, and the peer goes on with another peer.
func (q *request) get(offset uint64) error {
	f, err := q.s.openHere(q.digest)
	if err != nil {
		return q.status(err)
	}
	defer f.Close()
	if offset > uint64(f.Size()) {
		return q.w.WriteByte(statusRefused)
	}
	_ = q.w.WriteByte(statusOK) // a bufio.Writer keeps its first error
	_, _ = q.w.Write(number(uint64(f.Size())))
	_, err = io.Copy(onlyWriter{q.w}, io.NewSectionReader(f, int64(offset), f.Size()-int64(offset)))
	return err
}

// onlyWriter hides ReadFrom, so that io.Copy reads whole pieces instead of as much as a small buffer takes.
type onlyWriter struct{ io.Writer }

// receive reads a file, and hands it to do once its bytes are known to match its digest.
func (q *request) receive(do func(*Staged) error) error {
	size, err := readNumber(q.r)
	if err != nil {
		return err
	}
	if size > uint64(q.s.cfg.MaxBytes) {
		_ = q.w.WriteByte(statusRefused)
		_ = q.w.Flush()
		return ErrTooLarge // the file is still on the wire
	}
	body := &io.LimitedReader{R: q.r, N: int64(size)}
	b, err := q.s.Stage(q.s.ctx, body)
	if err != nil {
		_ = q.status(err)
		_ = q.w.Flush()
		return err
	}
	defer b.Close()
	switch {
	case body.N > 0:
		return io.ErrUnexpectedEOF
	case b.Digest != q.digest:
		return q.w.WriteByte(statusRefused)
	}
	return q.status(do(b))
}
