package apitest

import (
	"context"
	"github.com/taskrt/taskrt/api"
	"io"
)

// Stubs of what is being built.

func (f *Fake) Namespaces(ctx context.Context) ([]api.Namespace, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
func (f *Fake) Namespace(ctx context.Context, name string) (*api.Namespace, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
func (f *Fake) CreateNamespace(ctx context.Context, s api.NamespaceSettings) (*api.Namespace, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
func (f *Fake) UpdateNamespace(ctx context.Context, s api.NamespaceSettings) (*api.Namespace, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
func (f *Fake) SetNamespaceStatus(ctx context.Context, name, status string) (*api.Namespace, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
func (f *Fake) ExportNamespace(ctx context.Context, r api.ExportRequest) (io.ReadCloser, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
func (f *Fake) ImportNamespace(ctx context.Context, r api.ImportRequest) (*api.ImportReply, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
