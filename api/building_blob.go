package api

import (
	"context"
)

// Stubs of what is being built.

func (c *Client) PutBlob(ctx context.Context, r PutBlobRequest) (*Blob, error) {
	return nil, NewError(CodeInternal, "being built")
}
func (c *Client) Blob(ctx context.Context, digest string) (*Blob, error) {
	return nil, NewError(CodeInternal, "being built")
}
func (c *Client) BlobContent(ctx context.Context, r BlobRange) (*BlobContent, error) {
	return nil, NewError(CodeInternal, "being built")
}
