package series

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/taskrt/taskrt/backup"
	"github.com/taskrt/taskrt/backup/target"
	"github.com/taskrt/taskrt/task"
)

func newReader(b []byte) io.Reader { return bytes.NewReader(b) }

// MaxBlob bounds a blob: it is in memory while it is stored.
const MaxBlob = 64 << 20

// blobs finds out which blobs are stored, and stores the others.
func (r *run) blobs(ctx context.Context) error {
	needed := r.source.Blobs()
	r.list = make([]stored, len(needed))
	index := make(map[[sha256.Size]byte]int, len(needed))
	for i, b := range needed {
		if !unhex(r.list[i].key.digest[:], b.Digest) {
			return fmt.Errorf("%q is no digest", b.Digest)
		}
		r.list[i].Blob = b
		index[r.list[i].key.digest] = i
	}
	err := r.keys(ctx, func(k key, o target.Object) error {
		i, ok := index[k.digest]
		if !ok || r.old[k] || k.tag != r.tag() || r.list[i].key.token > k.token {
			return nil // of several the last one counts: it may be there because an earlier one was damaged
		}
		if k.tag == (Tag{}) && o.Size != needed[i].Size || k.tag != (Tag{}) && o.Size <= needed[i].Size {
			r.Logger.Error("a blob of backups is damaged: backups that name it cannot be restored whole", "object", o.Name, "bytes", o.Size, "of", needed[i].Size)
			return nil
		}
		r.list[i].key = k
		return nil
	})
	if err != nil {
		return err
	}
	group, each := errgroup.WithContext(ctx)
	group.SetLimit(r.Parallel)
	done := atomic.Int64{}
	for i := range r.list {
		if each.Err() != nil {
			break
		}
		group.Go(func() error {
			if err := r.blob(each, &r.list[i]); err != nil {
				return fmt.Errorf("blob %s: %w", r.list[i].Digest, err)
			}
			return r.Progress("blobs", done.Add(1))
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

func (r *run) tag() Tag {
	if r.Seal == nil {
		return Tag{}
	}
	return r.Seal.Tag
}

// blob stores a blob that is not stored, or hashes one whose turn it is.
func (r *run) blob(ctx context.Context, x *stored) error {
	if x.key.token != 0 {
		if !due(x.key.digest, r.last, r.Now(), r.grace.recheck) {
			return nil
		}
		switch err := r.rehash(ctx, x.key); {
		case err == nil:
			return nil
		case !errors.Is(err, backup.ErrDamaged) && !errors.Is(err, target.ErrNotThere):
			return err
		default:
			r.Logger.Error("a blob of backups is damaged: backups that name it cannot be restored whole", "object", x.key, "err", err)
			x.key = key{digest: x.key.digest}
		}
	}
	return r.store(ctx, x)
}

// rehash reads a stored blob.
func (r *run) rehash(ctx context.Context, k key) error {
	in, err := r.Target.Get(ctx, r.path(blobs, k.object()))
	if err != nil {
		return err
	}
	sum := sha256.New()
	_, err = io.Copy(sum, paced{ctx, in, r.Pace})
	if err = errors.Join(err, in.Close()); err != nil {
		return err
	}
	if want := k.sum(); string(sum.Sum(nil)) != string(want[:]) {
		return fmt.Errorf("%w: its bytes are others", backup.ErrDamaged)
	}
	return nil
}

// store stores a blob under a key that was never used.
func (r *run) store(ctx context.Context, x *stored) error {
	if x.Size > MaxBlob {
		return fmt.Errorf("it has %d bytes, more than %d", x.Size, MaxBlob)
	}
	in, err := r.source.Open(ctx, x.Blob)
	if err != nil {
		return err
	}
	content, err := io.ReadAll(io.LimitReader(paced{ctx, in, r.Pace}, x.Size+1))
	if err = errors.Join(err, in.Close()); err != nil {
		return err
	}
	if sum := sha256.Sum256(content); sum != x.key.digest {
		return fmt.Errorf("this node's %d bytes of %d are not the blob", len(content), x.Size)
	}
	x.key.token = r.Token
	if r.Seal != nil {
		if content, err = r.seal(content); err != nil {
			return err
		}
		x.key.sealed, x.key.tag = sha256.Sum256(content), r.Seal.Tag
	}
	if err := r.Target.Put(ctx, r.path(blobs, x.key.object()), newReader(content), int64(len(content))); err != nil {
		return err
	}
	atomic.AddInt64(&r.entry.New, 1)
	atomic.AddInt64(&r.entry.NewBytes, int64(len(content)))
	return nil
}

func (r *run) seal(content []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := r.Seal.Wrap(&b)
	if err == nil {
		_, err = w.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	return b.Bytes(), err
}

// paced is a reader that waits before it hands out what it has read.
type paced struct {
	ctx  context.Context
	from io.Reader
	pace func(context.Context, int) error
}

// Read implements io.Reader.
func (p paced) Read(b []byte) (int, error) {
	n, err := p.from.Read(b[:min(len(b), 256<<10)])
	if n > 0 {
		if wait := p.pace(p.ctx, n); wait != nil {
			return n, wait
		}
	}
	return n, err
}

// parts stores the state and the list of blobs, and verifies both by what the target gives back.
func (r *run) parts(ctx context.Context) error {
	h := r.source.Header()
	r.entry.Format, r.entry.Name, r.entry.Header, r.entry.Encrypted = Format, r.name, h, r.Seal != nil
	if err := r.Progress("state", 0); err != nil {
		return err
	}
	state, err := r.pipe(func(w io.Writer) error { return r.writeState(ctx, w, r.Seal) }, func(from io.Reader) error {
		return r.Target.Put(ctx, r.path(states, r.name), from, -1)
	})
	if err != nil {
		return fmt.Errorf("store the state: %w", err)
	}
	list := writeList(r.list)
	if err := r.put(ctx, lists, list); err != nil {
		return fmt.Errorf("store the list of blobs: %w", err)
	}
	sum := sha256.Sum256(list)
	r.entry.State, r.entry.List = state, Part{int64(len(list)), hex.EncodeToString(sum[:])}
	r.entry.NewBytes += state.Bytes + int64(len(list))
	if err := r.Progress("verify", 0); err != nil {
		return err
	}
	return r.verify(ctx)
}

// writeState writes the state as a backup without blobs, encrypted if seal says how.
func (r *run) writeState(ctx context.Context, to io.Writer, seal *Seal) error {
	end := func() error { return nil }
	if seal != nil {
		w, err := seal.Wrap(to)
		if err != nil {
			return err
		}
		to, end = w, w.Close
	}
	w, err := backup.NewWriter(to, r.source.Header())
	if err != nil {
		return err
	}
	w.Pace = func(bytes int) error { return r.Pace(ctx, bytes) }
	if err := r.source.State(w); err != nil {
		return err
	}
	return errors.Join(w.Close(), end())
}

// pipe lets read have what write writes, and describes it.
func (r *run) pipe(write func(io.Writer) error, read func(io.Reader) error) (Part, error) {
	from, to := io.Pipe()
	written := make(chan error, 1)
	sum := counted{to: sha256.New()}
	go func() {
		err := write(io.MultiWriter(to, &sum))
		written <- err
		to.CloseWithError(err)
	}()
	err := read(from)
	from.CloseWithError(errors.Join(err, io.ErrClosedPipe))
	if failed := <-written; failed != nil && (err == nil || !errors.Is(failed, io.ErrClosedPipe)) {
		err = failed
	}
	return sum.part(), err
}

// counted hashes and counts what is written.
type counted struct {
	to hash.Hash
	n  int64
}

// Write implements io.Writer.
func (c *counted) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.n += int64(n)
	return n, err
}

func (c *counted) part() Part { return Part{c.n, hex.EncodeToString(c.to.Sum(nil))} }

// verify reads the state and the list back. The state is restored into a machine. An encrypted state cannot be read here. So its bytes are compared
// with the bytes that were sent, and the state that was encrypted is restored.
func (r *run) verify(ctx context.Context) error {
	check := func(from io.Reader) error { return r.restorable(from) }
	if r.Seal != nil {
		_, err := r.pipe(func(w io.Writer) error { return r.writeState(ctx, w, nil) }, check)
		if err != nil {
			return fmt.Errorf("verify the state: %w", err)
		}
		check = func(io.Reader) error { return nil }
	}
	if err := r.readBack(ctx, states, r.entry.State, check); err != nil {
		return fmt.Errorf("verify the state in %s: %w", r.Target, err)
	}
	i := 0
	err := r.readBack(ctx, lists, r.entry.List, func(from io.Reader) error {
		return readList(from, func(x stored) error {
			if i >= len(r.list) || r.list[i] != x {
				return fmt.Errorf("%w: line %d is another", backup.ErrDamaged, i+2)
			}
			i++
			return nil
		})
	})
	if err == nil && i != len(r.list) {
		err = fmt.Errorf("%w: %d lines of %d", backup.ErrDamaged, i, len(r.list))
	}
	if err != nil {
		return fmt.Errorf("verify the list of blobs in %s: %w", r.Target, err)
	}
	return nil
}

// readBack reads a part to its end, and compares it with what was written.
func (r *run) readBack(ctx context.Context, folder string, want Part, check func(io.Reader) error) error {
	in, err := r.Target.Get(ctx, r.path(folder, r.name))
	if err != nil {
		return err
	}
	sum := counted{to: sha256.New()}
	from := io.TeeReader(paced{ctx, in, r.Pace}, &sum)
	err = check(from)
	if err == nil {
		_, err = io.Copy(io.Discard, from)
	}
	if err = errors.Join(err, in.Close()); err != nil {
		return err
	}
	if got := sum.part(); got != want {
		return fmt.Errorf("%w: %d bytes with the digest %s came back, and %d with %s were written", backup.ErrDamaged, got.Bytes, got.SHA256, want.Bytes, want.SHA256)
	}
	return nil
}

// restorable restores a state into a machine, runs all checks, and compares the blobs that it needs with those of the list.
func (r *run) restorable(from io.Reader) error {
	b, err := backup.NewReader(from)
	if err != nil {
		return err
	}
	defer b.Close()
	m, err := b.Machine()
	if err == nil {
		err = m.Check()
	}
	if err == nil {
		err = r.sameBlobs(m.Freeze())
	}
	if err != nil {
		return err
	}
	if _, err := b.Next(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("behind the state: %w", err)
	}
	return nil
}

func (r *run) sameBlobs(f *task.Frozen) error {
	needed := backup.Needed(f)
	for i, b := range needed {
		if i >= len(r.list) || r.list[i].Blob != b {
			return fmt.Errorf("%w: the state knows blob %s, the list does not", backup.ErrDamaged, b.Digest)
		}
	}
	if len(needed) != len(r.list) {
		return fmt.Errorf("%w: the list has %d blobs, the state knows %d", backup.ErrDamaged, len(r.list), len(needed))
	}
	return nil
}
