package auth

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task/access"
)

// SignIn gives people and workloads that an issuer of OpenID Connect vouches for a token of their own, a session (SPEC A7).
type SignIn interface {
	// Issuers lists the issuers in the order of their names, with their rules.
	Issuers(ctx context.Context) (*IssuersReply, error)
	PutIssuer(ctx context.Context, i Issuer) (*Issuer, error)
	RemoveIssuer(ctx context.Context, name string) error
	// Places says where one may sign in. Everybody may ask.
	Places(ctx context.Context) (*PlacesReply, error)
	// SignIn begins a session. Everybody may ask who has a token of an issuer.
	SignIn(ctx context.Context, r SignInRequest) (*CreatedToken, error)
	// SignOut revokes the token that makes the call.
	SignOut(ctx context.Context) error
}

// Issuer is somebody who vouches for people and workloads by OpenID Connect, and what they may do then. It is the same on every node.
type Issuer struct {
	Name     string       `json:"name,omitempty"`    // absent: the one of the path; 3..64 of a-z 0-9 - _ ., beginning with a letter
	URL      string       `json:"url"`               // as its tokens name it: https://…, or http:// of this machine
	ClientID string       `json:"client_id"`         // the audience that its tokens must name, and the client of `taskrt login`
	Rules    []IssuerRule `json:"rules"`             // the first one that fits a token says what its holder may do
	Session  api.Duration `json:"session,omitempty"` // how long a session is; default and most 12h
}

// IssuerRule says what a holder of certain tokens may do.
type IssuerRule struct {
	Claim      string   `json:"claim"` // of the token; a path with dots finds one inside another
	Value      string   `json:"value"` // a value, or the beginning of values and *; a claim with a list needs it in the list
	Roles      []string `json:"roles"`
	Namespaces []string `json:"namespaces,omitempty"` // patterns; absent: every namespace
	Behaviors  []string `json:"behaviors,omitempty"`  // patterns; absent: every behavior
}

// IssuersReply has all issuers.
type IssuersReply struct {
	Issuers []Issuer `json:"issuers"`
}

// Place is an issuer at which one may sign in.
type Place struct {
	Name     string `json:"name"`
	URL      string `json:"url"`
	ClientID string `json:"client_id"`
}

// PlacesReply has all places.
type PlacesReply struct {
	Places []Place `json:"places"`
}

// SignInRequest asks for a session.
type SignInRequest struct {
	Issuer string `json:"issuer,omitempty"` // its name; absent: the one whose URL and client the token names
	Token  string `json:"token"`            // an ID token, or a JWT of a workload
	Hash   string `json:"hash,omitempty"`   // as in CreateTokenRequest
}

// Limits of sign-in.
const (
	MaxIssuers   = 16
	MaxRules     = 64
	MaxSession   = access.MaxSession * time.Millisecond
	MaxJWT       = 16 << 10
	maxIssuerURL = 512
	maxClaim     = 128
	maxValue     = 256
)

// Check checks an issuer that stands by itself, and fills in what is absent; nil or an *api.Error.
func (i *Issuer) Check() error {
	if err := CheckName(i.Name); err != nil {
		return err
	}
	if err := checkIssuerURL(i.URL); err != nil {
		return err
	}
	if i.ClientID == "" || len(i.ClientID) > maxValue {
		return limited("client_id", maxValue, "must be 1 to %d characters", maxValue)
	}
	if i.Session == 0 {
		i.Session = api.Duration(MaxSession)
	}
	if d := time.Duration(i.Session); d < time.Minute || d > MaxSession {
		return api.FieldError(api.CodeInvalidField, "session", "must be 1m to %v", MaxSession)
	}
	if len(i.Rules) == 0 || len(i.Rules) > MaxRules {
		return limited("rules", MaxRules, "must be 1 to %d: without a rule nobody may do anything", MaxRules)
	}
	for n := range i.Rules {
		if err := i.Rules[n].check(fmt.Sprintf("rules[%d].", n)); err != nil {
			return err
		}
	}
	return nil
}

func checkIssuerURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || len(text) > maxIssuerURL:
		return limited("url", maxIssuerURL, "must be https://HOST… of at most %d characters, as the issuer's tokens name it", maxIssuerURL)
	case u.Scheme == "https":
		return nil
	case u.Scheme == "http" && isLoopback(u.Hostname()):
		return nil
	}
	return api.FieldError(api.CodeInvalidField, "url", "must be https: who is on the way to an issuer could vouch for anybody")
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (r *IssuerRule) check(at string) error {
	if r.Claim == "" || len(r.Claim) > maxClaim {
		return limited(at+"claim", maxClaim, "must be 1 to %d characters", maxClaim)
	}
	if name, _ := strings.CutSuffix(r.Value, "*"); r.Value == "" || len(r.Value) > maxValue || strings.Contains(name, "*") {
		return limited(at+"value", maxValue, "must be 1 to %d characters, with a * at the end or none", maxValue)
	}
	if _, err := r.Grant(); err != nil {
		e := *api.ErrorOf(err)
		e.Field = at + e.Field
		return &e
	}
	return nil
}

// Grant returns what the rule gives.
func (r *IssuerRule) Grant() (access.Grant, error) {
	c := CreateTokenRequest{Roles: r.Roles, Namespaces: r.Namespaces, Behaviors: r.Behaviors}
	c.everything()
	return c.Grant()
}

func limited(field string, limit int64, format string, args ...any) error {
	e := api.FieldError(api.CodeInvalidField, field, format, args...)
	e.Limit = limit
	return e
}

// Check checks a request that stands by itself; nil or an *api.Error.
func (r *SignInRequest) Check() error {
	if r.Issuer != "" {
		if err := CheckName(r.Issuer); err != nil {
			return err
		}
	}
	if r.Token == "" || len(r.Token) > MaxJWT {
		return limited("token", MaxJWT, "must be a JWT of at most %d characters", MaxJWT)
	}
	return checkHash(r.Hash)
}
