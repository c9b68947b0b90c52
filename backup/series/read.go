package series

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/taskrt/taskrt/backup"
)

// Unseal decrypts what Seal.Wrap has encrypted.
type Unseal func(io.Reader) (io.Reader, error)

// Open returns a backup as one file with all of its blobs, in the form of package backup. An error of the target ends it.
func (s Series) Open(ctx context.Context, e Entry, unseal Unseal) io.ReadCloser {
	from, to := io.Pipe()
	ctx, cancel := context.WithCancel(ctx)
	j := joined{PipeReader: from, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(j.done)
		to.CloseWithError(s.join(ctx, e, unseal, to))
	}()
	return j
}

// joined is a backup that is put together while it is read.
type joined struct {
	*io.PipeReader

	cancel context.CancelFunc
	done   chan struct{}
}

// Close implements io.Closer. It returns when nothing is read from the target any longer.
func (j joined) Close() error {
	j.cancel()
	err := j.CloseWithError(os.ErrClosed)
	<-j.done
	return err
}

// object opens an object of a backup, decrypted.
func (s Series) object(ctx context.Context, name string, encrypted bool, unseal Unseal) (from io.Reader, close func() error, err error) {
	in, err := s.Target.Get(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	from = in
	if encrypted {
		if from, err = unseal(in); err != nil {
			return nil, nil, errors.Join(err, in.Close())
		}
	}
	return from, in.Close, nil
}

func (s Series) join(ctx context.Context, e Entry, unseal Unseal, to io.Writer) error {
	in, done, err := s.object(ctx, s.path(states, e.Name), e.Encrypted, unseal)
	if err != nil {
		return fmt.Errorf("the state of backup %s: %w", e.Name, err)
	}
	defer func() { _ = done() }() // it was read
	state, err := backup.NewReader(in)
	if err != nil {
		return err
	}
	defer state.Close()
	h := state.Header()
	if h != e.Header {
		return fmt.Errorf("%w: the state of backup %s has another header than its record", backup.ErrDamaged, e.Name)
	}
	h.WithBlobs = true
	w, err := backup.NewWriter(to, h)
	if err != nil {
		return err
	}
	if err := state.State(w.CopyState); err != nil {
		return err
	}
	if _, err := state.Next(); !errors.Is(err, io.EOF) {
		return err
	}
	if err := s.joinBlobs(ctx, e, unseal, w); err != nil {
		return err
	}
	return w.Close()
}

func (s Series) joinBlobs(ctx context.Context, e Entry, unseal Unseal, w *backup.Writer) error {
	in, err := s.Target.Get(ctx, s.path(lists, e.Name))
	if err != nil {
		return fmt.Errorf("the list of blobs of backup %s: %w", e.Name, err)
	}
	sum := counted{to: sha256.New()}
	err = readList(io.TeeReader(in, &sum), func(x stored) error { return s.joinBlob(ctx, x, unseal, w) })
	if err = errors.Join(err, in.Close()); err != nil {
		return err
	}
	if sum.part() != e.List {
		return fmt.Errorf("%w: the list of blobs of backup %s is not the one that was written", backup.ErrDamaged, e.Name)
	}
	return nil
}

func (s Series) joinBlob(ctx context.Context, x stored, unseal Unseal, w *backup.Writer) error {
	in, done, err := s.object(ctx, s.path(blobs, x.key.object()), x.key.tag != Tag{}, unseal)
	if err != nil {
		return fmt.Errorf("blob %s: %w", x.Digest, err)
	}
	content, err := io.ReadAll(io.LimitReader(in, x.Size+1))
	if err = errors.Join(err, done()); err != nil {
		return fmt.Errorf("blob %s: %w", x.Digest, err)
	}
	if sha256.Sum256(content) != x.key.digest {
		return fmt.Errorf("%w: object %s has %d bytes, and they are not the blob of %d bytes", backup.ErrDamaged, x.key, len(content), x.Size)
	}
	return w.Blob(x.Blob, bytes.NewReader(content))
}
