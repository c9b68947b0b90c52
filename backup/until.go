package backup

import (
	"context"
	"io"
)

// Until returns a reader of r that ends with ctx. A backup is long, and its reader may give up between two pieces.
func Until(ctx context.Context, r io.Reader) io.Reader { return until{ctx, r} }

type until struct {
	ctx context.Context
	io.Reader
}

// Read implements io.Reader.
func (u until) Read(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.Reader.Read(b)
}
