package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/internal/codec"
)

// Access manages the tokens of a cluster over HTTP (SPEC A4). It is safe for concurrent use.
//
// Reads, RevokeToken and DisableRoot are sent again if their outcome is unknown. CreateToken and RotateToken are sent again under
// WithIdempotencyKey only. The answer to a repeat has no credential, because credentials are kept nowhere: a program that draws the token
// itself, and sends its hash, need not care.
type Access struct{ client *Client }

var _ auth.Access = (*Access)(nil)

// NewAccess manages tokens through a Client, which the caller keeps open and closes.
func NewAccess(c *Client) *Access { return &Access{c} }

func tokenURL(name string) string { return "/v1/tokens/" + url.PathEscape(name) }

// Tokens implements auth.Access.
func (a *Access) Tokens(ctx context.Context, r auth.TokensRequest) (*auth.TokensReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	q := url.Values{"limit": {strconv.Itoa(r.Limit)}}
	if r.Cursor != "" {
		q.Set("cursor", r.Cursor)
	}
	var answer auth.TokensReply
	if err := a.client.read(ctx, "/v1/tokens", q, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// Token implements auth.Access.
func (a *Access) Token(ctx context.Context, name string) (*auth.Token, error) {
	if err := auth.CheckName(name); err != nil {
		return nil, err
	}
	return a.token(ctx, tokenURL(name))
}

// Self implements auth.Access.
func (a *Access) Self(ctx context.Context) (*auth.Token, error) { return a.token(ctx, "/v1/self") }

func (a *Access) token(ctx context.Context, path string) (*auth.Token, error) {
	var answer auth.Token
	if err := a.client.read(ctx, path, nil, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// CreateToken implements auth.Access.
func (a *Access) CreateToken(ctx context.Context, r auth.CreateTokenRequest) (*auth.CreatedToken, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	return a.made(ctx, "/v1/tokens", r)
}

// RotateToken implements auth.Access.
func (a *Access) RotateToken(ctx context.Context, r auth.RotateTokenRequest) (*auth.CreatedToken, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	return a.made(ctx, tokenURL(r.Name)+"/rotate", r)
}

func (a *Access) made(ctx context.Context, path string, body any) (*auth.CreatedToken, error) {
	var answer auth.CreatedToken
	if _, err := a.client.post(ctx, path, nil, body, &answer, false); err != nil {
		return nil, err
	}
	return &answer, nil
}

// RevokeToken implements auth.Access.
func (a *Access) RevokeToken(ctx context.Context, name string) error {
	if err := auth.CheckName(name); err != nil {
		return err
	}
	r, err := a.client.do(ctx, call{method: http.MethodDelete, path: tokenURL(name), resend: true}, nil)
	if r.maybe && api.CodeOf(err) == api.CodeTokenNotFound {
		return nil // the first request has revoked it
	}
	return err
}

// DisableRoot implements auth.Access.
func (a *Access) DisableRoot(ctx context.Context) error {
	_, err := a.client.do(ctx, call{
		method: http.MethodPost, path: "/v1/tokens:disable-root", contentType: codec.JSONMedia, body: []byte("{}"), resend: true,
	}, nil)
	return err
}
