// Package auth is the contract of tokens: who makes a call, and how tokens are managed (SPEC A4, A5). It stands beside api.Service: a cluster
// that is open has no tokens.
package auth

import (
	"context"
	"embed"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task/access"
)

// Sources are the files with the types that travel; see api.Sources.
//
//go:embed types.go signin.go audit.go
var Sources embed.FS

// Principal is who makes a call (SPEC A4, A5). Values are immutable.
type Principal struct {
	Number uint64 // of the token, in the log: every command names it
	Name   string // of the token, for people
	Grant  access.Grant
	// Members is set for a worker that proves itself by a worker secret: it may ask where the members are, and nothing else.
	Members bool
}

type principalKey struct{}

// WithPrincipal returns a context whose calls p makes.
func WithPrincipal(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// PrincipalOf returns who makes a call. It is nil if nobody is asked: in a cluster that is open, and for the node itself.
func PrincipalOf(ctx context.Context) *Principal {
	p, _ := ctx.Value(principalKey{}).(*Principal)
	return p
}

// Access manages tokens (SPEC A4).
type Access interface {
	// Tokens lists tokens in the order of their names.
	Tokens(ctx context.Context, r TokensRequest) (*TokensReply, error)
	Token(ctx context.Context, name string) (*Token, error)
	// Self returns the token that makes the call.
	Self(ctx context.Context) (*Token, error)
	CreateToken(ctx context.Context, r CreateTokenRequest) (*CreatedToken, error)
	// RotateToken gives a token another secret. The former one holds for a while.
	RotateToken(ctx context.Context, r RotateTokenRequest) (*CreatedToken, error)
	RevokeToken(ctx context.Context, name string) error
	// DisableRoot turns the root token off. Only the node port turns it on again.
	DisableRoot(ctx context.Context) error
}

// RootName is the name of the root token, which follows from the cluster secret.
const RootName = access.RootName

// Token is a token as JSON. The credential itself is not in it.
type Token struct {
	Name       string    `json:"name"`
	Roles      []string  `json:"roles"`
	Namespaces []string  `json:"namespaces"` // patterns: a name, or a beginning and *
	Behaviors  []string  `json:"behaviors"`  // patterns
	ExpiresAt  *api.Time `json:"expires_at,omitempty"`
	CreatedAt  *api.Time `json:"created_at,omitempty"`
	CreatedBy  string    `json:"created_by,omitempty"`
	RotatedAt  *api.Time `json:"rotated_at,omitempty"`
	// FormerUntil is until when the credential from before the last rotation holds.
	FormerUntil *api.Time `json:"former_until,omitempty"`
	// Subject is, of a session, who has signed in: the name of the issuer, a slash, and whom the issuer means.
	Subject string `json:"subject,omitempty"`
	Rate    int64  `json:"rate,omitempty"` // requests per second and node; 0: no limit
	Rev     uint64 `json:"rev,omitempty"`
}

// CreateTokenRequest asks for a token. The new token may do nothing that the caller may not.
type CreateTokenRequest struct {
	Name       string       `json:"name"` // 2..64 of a-z 0-9 - _ ., beginning with a letter
	Roles      []string     `json:"roles"`
	Namespaces []string     `json:"namespaces,omitempty"` // absent: every namespace
	Behaviors  []string     `json:"behaviors,omitempty"`  // absent: every behavior
	TTL        api.Duration `json:"ttl,omitempty"`        // absent: it does not expire
	Rate       int64        `json:"rate,omitempty"`
	// Hash is the SHA-256 of the token's 32 bytes, in hex: of a caller that has drawn the token itself. Absent: the server draws it.
	Hash string `json:"hash,omitempty"`
}

// RotateTokenRequest asks for another credential of a token.
type RotateTokenRequest struct {
	Name    string        `json:"-"`
	Overlap *api.Duration `json:"overlap,omitempty"` // how long the former credential holds beside the new one; default 1h, at most 720h
	Hash    string        `json:"hash,omitempty"`    // as in CreateTokenRequest
}

// CreatedToken is a token with its credential, which is shown this once.
type CreatedToken struct {
	Token
	Credential string `json:"credential,omitempty"` // trt_…; absent if the caller has drawn it, or if the request is a repeat
}

// TokensRequest asks for a page of tokens.
type TokensRequest struct {
	Limit  int
	Cursor string
}

// TokensReply is a page of tokens.
type TokensReply struct {
	Tokens []Token `json:"tokens"`
	Cursor string  `json:"cursor,omitempty"` // of the next page; absent: this is the last one
}
