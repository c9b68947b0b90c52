package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/internal/codec"
)

// SignIn begins and ends sessions over HTTP, and manages who vouches for them (SPEC A7). It is safe for concurrent use. A SignIn is sent again
// if its outcome is unknown only under a Hash: then the repeat asks for the same token.
type SignIn struct{ client *Client }

var _ auth.SignIn = (*SignIn)(nil)

// NewSignIn signs in through a Client, which the caller keeps open and closes.
func NewSignIn(c *Client) *SignIn { return &SignIn{c} }

func issuerURL(name string) string { return "/v1/issuers/" + url.PathEscape(name) }

// Issuers implements auth.SignIn.
func (s *SignIn) Issuers(ctx context.Context) (*auth.IssuersReply, error) {
	var answer auth.IssuersReply
	if err := s.client.read(ctx, "/v1/issuers", nil, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// PutIssuer implements auth.SignIn.
func (s *SignIn) PutIssuer(ctx context.Context, i auth.Issuer) (*auth.Issuer, error) {
	if err := i.Check(); err != nil {
		return nil, err
	}
	var answer auth.Issuer
	put := call{method: http.MethodPut, path: issuerURL(i.Name), contentType: codec.JSONMedia, body: codec.Encode(i), resend: true}
	if _, err := s.client.do(ctx, put, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// RemoveIssuer implements auth.SignIn.
func (s *SignIn) RemoveIssuer(ctx context.Context, name string) error {
	if err := auth.CheckName(name); err != nil {
		return err
	}
	r, err := s.client.do(ctx, call{method: http.MethodDelete, path: issuerURL(name), resend: true}, nil)
	if r.maybe && api.CodeOf(err) == api.CodeIssuerNotFound {
		return nil // the first request has removed it
	}
	return err
}

// Places implements auth.SignIn.
func (s *SignIn) Places(ctx context.Context) (*auth.PlacesReply, error) {
	var answer auth.PlacesReply
	if err := s.client.read(ctx, "/v1/sign-in", nil, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// SignIn implements auth.SignIn.
func (s *SignIn) SignIn(ctx context.Context, r auth.SignInRequest) (*auth.CreatedToken, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	var answer auth.CreatedToken
	if _, err := s.client.post(ctx, "/v1/sign-in", nil, r, &answer, false); err != nil {
		return nil, err
	}
	return &answer, nil
}

// SignOut implements auth.SignIn.
func (s *SignIn) SignOut(ctx context.Context) error {
	r, err := s.client.do(ctx, call{method: http.MethodDelete, path: "/v1/self", resend: true}, nil)
	if r.maybe && api.CodeOf(err) == api.CodeUnauthenticated {
		return nil // the first request has ended it
	}
	return err
}
