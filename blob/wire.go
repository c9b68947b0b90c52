package blob

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"time"

	"github.com/taskrt/taskrt/internal/mux"
)

// One connection carries requests one after the other.
//
//	request:  op u8, digest [32]byte; put: size u64, bytes
//	answer:   status u8; get: size u64, bytes
//
// Numbers are big-endian and part of the wire format: never reuse one.
const (
	opGet byte = 1
	opPut byte = 2
	opHas byte = 3

	statusOK       byte = 0
	statusNotFound byte = 1
	statusRefused  byte = 2 // the bytes do not match the digest, or are too many
	statusFailed   byte = 3 // the peer's disk
)

// maxBusy is how many requests of peers are worked on at a time.
const maxBusy = 8

// idleTimeout ends a connection on which a peer asks nothing or stops in the middle.
const idleTimeout = time.Minute

// Serve answers peers until Close; it then returns nil.
func (s *Store) Serve(ln net.Listener) error {
	if !s.enter() {
		return ErrClosed
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

func (s *Store) serve(c net.Conn) {
	defer c.Close()
	stop := context.AfterFunc(s.ctx, func() { _ = c.Close() })
	defer stop()
	r, w := bufio.NewReader(c), bufio.NewWriter(c)
	for {
		_ = c.SetDeadline(time.Now().Add(idleTimeout))
		if _, err := r.Peek(1); err != nil {
			return
		}
		if err := s.answerOne(r, w); err != nil {
			return
		}
	}
}

// answerOne answers one request. Each holds a whole file in memory, so only a few are worked on at a time.
func (s *Store) answerOne(r *bufio.Reader, w *bufio.Writer) error {
	select {
	case s.busy <- struct{}{}:
		defer func() { <-s.busy }()
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
	if err := s.answer(r, w); err != nil {
		return err
	}
	return w.Flush()
}

// answer reads one request and writes its answer. An error ends the connection.
func (s *Store) answer(r *bufio.Reader, w *bufio.Writer) error {
	var head [33]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	digest := hex.EncodeToString(head[1:])
	switch head[0] {
	case opGet:
		data, err := s.read(digest)
		if err != nil {
			return w.WriteByte(statusOf(err))
		}
		if err := w.WriteByte(statusOK); err != nil {
			return err
		}
		return writeBody(w, data)
	case opHas:
		_, err := s.read(digest)
		return w.WriteByte(statusOf(err))
	case opPut:
		data, err := readBody(r, s.cfg.MaxBytes)
		if errors.Is(err, ErrTooLarge) {
			_ = w.WriteByte(statusRefused)
			_ = w.Flush()
			return err // the rest of the body is still on the wire
		}
		if err != nil {
			return err
		}
		if Digest(data) != digest {
			return w.WriteByte(statusRefused)
		}
		_, err = s.Put(s.ctx, data)
		return w.WriteByte(statusOf(err))
	}
	return fmt.Errorf("blob: unknown request %d", head[0])
}

func statusOf(err error) byte {
	switch {
	case err == nil:
		return statusOK
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrCorrupt):
		return statusNotFound
	case errors.Is(err, ErrTooLarge):
		return statusRefused
	}
	return statusFailed
}

func errorOf(status byte) error {
	switch status {
	case statusOK:
		return nil
	case statusNotFound:
		return ErrNotFound
	case statusRefused:
		return ErrCorrupt
	}
	return fmt.Errorf("blob: the peer failed (status %d)", status)
}

func writeBody(w io.Writer, data []byte) error {
	var size [8]byte
	binary.BigEndian.PutUint64(size[:], uint64(len(data)))
	if _, err := w.Write(size[:]); err != nil {
		return err
	}
	_, err := w.Write(data)
	return err
}

// readBody reads a body of at most limit bytes. Memory grows with what arrives, not with what was announced.
func readBody(r io.Reader, limit int64) ([]byte, error) {
	var size [8]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint64(size[:])
	if n > uint64(limit) {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, n, limit)
	}
	data, err := io.ReadAll(io.LimitReader(r, int64(n)))
	if err == nil && uint64(len(data)) < n {
		err = io.ErrUnexpectedEOF
	}
	return data, err
}

// exchange sends one request to a peer and returns the answer's body, if the request has one.
func (s *Store) exchange(ctx context.Context, peer string, op byte, digest string, body []byte) ([]byte, error) {
	if s.cfg.Net == nil {
		return nil, errors.New("blob: no network")
	}
	c, err := s.cfg.Net.Dial(ctx, peer, mux.Blob)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	w := bufio.NewWriter(c)
	id, err := hex.DecodeString(digest)
	if err != nil {
		return nil, err
	}
	_ = w.WriteByte(op) // a bufio.Writer keeps its first error for Flush
	_, _ = w.Write(id)
	if op == opPut {
		_ = writeBody(w, body)
	}
	if err := w.Flush(); err != nil {
		return nil, err
	}
	r := bufio.NewReader(c)
	status, err := r.ReadByte()
	if err != nil {
		return nil, err
	}
	if err := errorOf(status); err != nil || op != opGet {
		return nil, err
	}
	return readBody(r, s.cfg.MaxBytes)
}

func (s *Store) send(ctx context.Context, peer, digest string, data []byte) error {
	if _, err := s.exchange(ctx, peer, opHas, digest, nil); err == nil {
		return nil // uploading the same again moves no bytes
	} else if !errors.Is(err, ErrNotFound) {
		return err
	}
	_, err := s.exchange(ctx, peer, opPut, digest, data)
	return err
}

// fetch asks the peers, one after the other in random order so that a new module does not fall on one node alone.
func (s *Store) fetch(digest string, peers []string) ([]byte, error) {
	errs := []error{fmt.Errorf("%w: %s", ErrNotFound, digest)}
	for _, i := range rand.Perm(len(peers)) {
		ctx, cancel := context.WithTimeout(s.ctx, s.cfg.Timeout)
		data, err := s.exchange(ctx, peers[i], opGet, digest, nil)
		cancel()
		if err == nil && Digest(data) != digest {
			err = ErrCorrupt
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", peers[i], err))
			continue
		}
		if err := s.write(digest, data); err != nil {
			// The bytes are right and the caller can go on; the disk is reported, and asked again next time.
			s.cfg.Logger.Error("cannot keep a fetched blob", "digest", digest, "err", err)
		}
		return data, nil
	}
	return nil, errors.Join(errs...)
}
