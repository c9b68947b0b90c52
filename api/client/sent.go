package client

import (
	"context"
	"io"
)

type sentKey struct{}

// WithSent has told called with how many bytes of a request's body are on their way, from another goroutine: again from
// the beginning where the request is sent again.
func WithSent(ctx context.Context, told func(sent int64)) context.Context {
	return context.WithValue(ctx, sentKey{}, told)
}

// counted is the body of a request for a caller who wants to be told of it.
func counted(ctx context.Context, body io.ReadCloser) io.ReadCloser {
	told, ok := ctx.Value(sentKey{}).(func(int64))
	if !ok || body == nil {
		return body
	}
	return &countedBody{ReadCloser: body, told: told}
}

type countedBody struct {
	io.ReadCloser
	told func(int64)
	sent int64
}

// Read implements io.Reader.
func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.sent += int64(n)
	b.told(b.sent)
	return n, err
}
