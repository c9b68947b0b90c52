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

// asking is a connection to a peer.
type asking struct {
	conn *timedConn
	r    *bufio.Reader
	stop func() bool
}

// dialTimeout is how long connecting to a peer may take. A peer whose host is down must not hold up a fetch from other peers.
const dialTimeout = 3 * time.Second

func (s *Store) dial(ctx context.Context, peer string) (*asking, error) {
	if s.cfg.Net == nil {
		return nil, errors.New("blob: no network")
	}
	dctx, cancel := context.WithTimeout(ctx, min(s.cfg.Timeout, dialTimeout))
	defer cancel()
	c, err := s.cfg.Net.Dial(dctx, peer, mux.Blob)
	if err != nil {
		return nil, err
	}
	return s.asking(ctx, c), nil
}

func (s *Store) asking(ctx context.Context, c net.Conn) *asking {
	pc := timed(c, s.cfg.Timeout)
	return &asking{conn: pc, r: bufio.NewReader(pc), stop: context.AfterFunc(ctx, func() { _ = c.Close() })}
}

func (a *asking) close() {
	a.stop()
	_ = a.conn.Close()
}

// ask sends a request, with a body if there is one, and reads the status of the answer. The peer may take as long as
// patience for it.
func (a *asking) ask(op byte, digest string, numbers []uint64, body io.Reader, patience time.Duration) error {
	id, err := hex.DecodeString(digest)
	if err != nil {
		return err
	}
	head := append([]byte{op}, id...)
	for _, n := range numbers {
		head = append(head, number(n)...)
	}
	a.conn.restart(a.conn.step)
	_, err = a.conn.Write(head)
	if err == nil && body != nil {
		_, err = io.CopyBuffer(onlyWriter{a.conn}, body, make([]byte, pieceBytes))
	}
	if err != nil && body == nil {
		return err
	}
	// A peer that does not want the body says so before it has ended, and hangs up.
	a.conn.restart(patience)
	status, rerr := a.r.ReadByte()
	if rerr != nil {
		return errors.Join(err, rerr)
	}
	return errorOf(status)
}

// send makes a peer store a file, unless the peer has the file.
func (s *Store) send(ctx context.Context, peer string, b *Staged, index uint64) error {
	a, err := s.dial(ctx, peer)
	if err != nil {
		return err
	}
	defer a.close()
	err = a.ask(opHasAt, b.Digest, []uint64{index}, nil, s.cfg.Timeout)
	if !errors.Is(err, ErrNotFound) {
		return err // uploading the same again moves no bytes
	}
	return a.ask(opPutAt, b.Digest, []uint64{index, uint64(b.Size)}, b.Reader(), s.cfg.Timeout)
}

// get asks a peer for the part of a file that p lacks. The peer may stand still for as long as patience.
func (s *Store) get(ctx context.Context, peer, digest string, p *part, patience time.Duration) error {
	a, err := s.dial(ctx, peer)
	if err != nil {
		return err
	}
	defer a.close()
	a.conn.step = patience
	if err := a.ask(opGetFrom, digest, []uint64{uint64(p.hash.size)}, nil, patience); err != nil {
		return err
	}
	total, err := readNumber(a.r)
	switch {
	case err != nil:
		return err
	case total > uint64(s.cfg.MaxBytes):
		return fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, total, s.cfg.MaxBytes)
	case p.total >= 0 && int64(total) != p.total:
		return errOtherSize
	}
	p.total = int64(total)
	buf := make([]byte, pieceBytes)
	for p.hash.size < p.total {
		n, err := a.r.Read(buf[:min(pieceBytes, p.total-p.hash.size)])
		if _, werr := p.Write(buf[:n]); werr != nil {
			return &ownError{werr}
		}
		if err != nil && p.hash.size < p.total {
			return err
		}
	}
	return nil
}
