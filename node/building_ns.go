package node

import (
	"context"
	"github.com/taskrt/taskrt/api"
	"io"
)

// Stubs of what is being built.

func (n *Node) Namespaces(ctx context.Context) ([]api.Namespace, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
func (n *Node) Namespace(ctx context.Context, name string) (*api.Namespace, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
func (n *Node) CreateNamespace(ctx context.Context, s api.NamespaceSettings) (*api.Namespace, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
func (n *Node) UpdateNamespace(ctx context.Context, s api.NamespaceSettings) (*api.Namespace, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
func (n *Node) SetNamespaceStatus(ctx context.Context, name, status string) (*api.Namespace, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
func (n *Node) ExportNamespace(ctx context.Context, r api.ExportRequest) (io.ReadCloser, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
func (n *Node) ImportNamespace(ctx context.Context, r api.ImportRequest) (*api.ImportReply, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
