package bucket

import (
	"context"
	"errors"
	"io"

	"github.com/minio/minio-go/v7"
)

// Get implements target.Target. A connection that breaks is made again, where it broke.
func (b *Bucket) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	r := &object{ctx: ctx, b: b, name: name}
	if err := r.open(); err != nil {
		return nil, err
	}
	return r, nil
}

// object is an object that is read.
type object struct {
	ctx  context.Context
	b    *Bucket
	name string

	in     io.ReadCloser
	etag   string
	at     int64 // bytes that were read
	size   int64
	broken int // times that it broke since a byte was read
}

// open asks for the rest of the object.
func (r *object) open() error {
	o := minio.GetObjectOptions{}
	if r.at > 0 {
		if err := errors.Join(o.SetRange(r.at, 0), o.SetMatchETag(r.etag)); err != nil {
			return err
		}
	}
	in, info, _, err := r.b.core.GetObject(r.ctx, r.b.bucket, r.b.prefix+r.name, o)
	if err != nil {
		return r.b.explain("reading", r.name, err)
	}
	if r.in = in; r.at == 0 {
		r.etag, r.size = info.ETag, info.Size
	}
	return nil
}

// Read implements io.Reader.
func (r *object) Read(p []byte) (int, error) {
	for {
		n, err := r.in.Read(p)
		if r.at += int64(n); n > 0 {
			r.broken = 0
			return n, nil
		}
		switch {
		case err == nil:
			return 0, nil
		case r.at > 0 && r.at >= r.size, errors.Is(err, io.EOF) && r.size == 0:
			return 0, io.EOF
		case r.ctx.Err() != nil:
			return 0, context.Cause(r.ctx)
		}
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if r.broken++; r.broken > attempts || r.at == 0 && r.broken > 1 {
			return 0, r.b.explain("reading", r.name, err)
		}
		_ = r.in.Close() // it is broken
		if err := r.open(); err != nil {
			return 0, err
		}
	}
}

// Close implements io.Closer.
func (r *object) Close() error { return r.in.Close() }
