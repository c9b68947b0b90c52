package api

import (
	"context"
	"io"
)

// Stubs of what is being built.

func (c *Client) Namespaces(ctx context.Context) ([]Namespace, error) {
	return nil, NewError(CodeInternal, "being built")
}
func (c *Client) Namespace(ctx context.Context, name string) (*Namespace, error) {
	return nil, NewError(CodeInternal, "being built")
}
func (c *Client) CreateNamespace(ctx context.Context, s NamespaceSettings) (*Namespace, error) {
	return nil, NewError(CodeInternal, "being built")
}
func (c *Client) UpdateNamespace(ctx context.Context, s NamespaceSettings) (*Namespace, error) {
	return nil, NewError(CodeInternal, "being built")
}
func (c *Client) SetNamespaceStatus(ctx context.Context, name, status string) (*Namespace, error) {
	return nil, NewError(CodeInternal, "being built")
}
func (c *Client) ExportNamespace(ctx context.Context, r ExportRequest) (io.ReadCloser, error) {
	return nil, NewError(CodeInternal, "being built")
}
func (c *Client) ImportNamespace(ctx context.Context, r ImportRequest) (*ImportReply, error) {
	return nil, NewError(CodeInternal, "being built")
}
