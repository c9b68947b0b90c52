package auth

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task/access"
)

// Limits of tokens.
const (
	MaxTTL         = 10 * 365 * 24 * time.Hour
	DefaultOverlap = time.Hour
	MaxOverlap     = 30 * 24 * time.Hour
	MaxRate        = access.MaxRate
	hashDigits     = 2 * len(access.Hash{})
)

// CheckName checks the name of a token; nil or an *api.Error.
func CheckName(name string) error {
	if access.IsName(name) {
		return nil
	}
	return limited("name", access.MaxName, "must be %d to %d of a-z 0-9 . _ - and begin with a letter", access.MinName, access.MaxName)
}

// Check checks a request that stands by itself, and fills in what is absent; nil or an *api.Error.
func (r *CreateTokenRequest) Check() error {
	if err := CheckName(r.Name); err != nil {
		return err
	}
	if r.Name == RootName {
		return api.FieldError(api.CodeInvalidField, "name", "%s is the token that follows from the cluster secret", RootName)
	}
	r.everything()
	if _, err := r.Grant(); err != nil {
		return err
	}
	if ttl := time.Duration(r.TTL); ttl < 0 || ttl > MaxTTL || ttl != 0 && ttl < time.Millisecond {
		return api.FieldError(api.CodeInvalidField, "ttl", "must be 1ms to %v", MaxTTL)
	}
	if r.Rate < 0 || r.Rate > MaxRate {
		return limited("rate", MaxRate, "must be 0 to %d requests per second", MaxRate)
	}
	return checkHash(r.Hash)
}

// everything fills in patterns that are absent.
func (r *CreateTokenRequest) everything() {
	if r.Namespaces == nil {
		r.Namespaces = []string{"*"}
	}
	if r.Behaviors == nil {
		r.Behaviors = []string{"*"}
	}
}

// Grant returns what is asked for.
func (r *CreateTokenRequest) Grant() (access.Grant, error) {
	g := access.Grant{Namespaces: r.Namespaces, Behaviors: r.Behaviors}
	for _, name := range r.Roles {
		role, known := access.Role(name)
		if !known {
			return g, api.FieldError(api.CodeInvalidField, "roles", "there is no role %.40q; the roles are %s", name, access.All)
		}
		g.Roles |= role
	}
	if field, why := g.Check(); field != "" {
		return g, api.FieldError(api.CodeInvalidField, field, "%s", why)
	}
	return g, nil
}

// Check checks a request that stands by itself; nil or an *api.Error.
func (r *RotateTokenRequest) Check() error {
	if err := CheckName(r.Name); err != nil {
		return err
	}
	if r.Overlap != nil && (time.Duration(*r.Overlap) < 0 || time.Duration(*r.Overlap) > MaxOverlap) {
		return api.FieldError(api.CodeInvalidField, "overlap", "must be 0 to %v", MaxOverlap)
	}
	return checkHash(r.Hash)
}

func checkHash(text string) error {
	if text == "" {
		return nil
	}
	if _, err := hex.DecodeString(text); err != nil || len(text) != hashDigits || strings.ToLower(text) != text {
		return api.FieldError(api.CodeInvalidField, "hash", "must be the SHA-256 of the token's 32 bytes: %d lower-case hex digits", hashDigits)
	}
	return nil
}

// Check checks a request, and fills in what is absent; nil or an *api.Error.
func (r *TokensRequest) Check() error {
	if err := checkPage(&r.Limit); err != nil {
		return err
	}
	_, err := r.After()
	return err
}

// checkPage checks how much a page may have, and fills in what is absent.
func checkPage(most *int) error {
	if *most == 0 {
		*most = 100
	}
	if *most < 0 || *most > api.MaxListLimit {
		return limited("limit", api.MaxListLimit, "must be 1 to %d", api.MaxListLimit)
	}
	return nil
}

// After returns the name after which the page begins.
func (r *TokensRequest) After() (string, error) {
	if r.Cursor == "" {
		return "", nil
	}
	name, err := base64.RawURLEncoding.DecodeString(r.Cursor)
	if err != nil || CheckName(string(name)) != nil {
		return "", api.FieldError(api.CodeInvalidField, "cursor", "is not one of this list")
	}
	return string(name), nil
}

// Cursor is where the page after a name begins; "": there is no other page.
func Cursor(name string) string { return base64.RawURLEncoding.EncodeToString([]byte(name)) }
