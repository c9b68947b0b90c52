package node

import (
	"context"
	"github.com/taskrt/taskrt/api"
)

// Stubs of what is being built.

func (n *Node) PutBlob(ctx context.Context, r api.PutBlobRequest) (*api.Blob, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
func (n *Node) Blob(ctx context.Context, digest string) (*api.Blob, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
func (n *Node) BlobContent(ctx context.Context, r api.BlobRange) (*api.BlobContent, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
