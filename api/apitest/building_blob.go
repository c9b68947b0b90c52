package apitest

import (
	"context"
	"github.com/taskrt/taskrt/api"
)

// Stubs of what is being built.

func (f *Fake) PutBlob(ctx context.Context, r api.PutBlobRequest) (*api.Blob, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
func (f *Fake) Blob(ctx context.Context, digest string) (*api.Blob, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
func (f *Fake) BlobContent(ctx context.Context, r api.BlobRange) (*api.BlobContent, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
