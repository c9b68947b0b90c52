package access

import "cmp"

// Refusal says why a token cannot be made or changed, or may not do what it asks for: the code of the answer, the field, and why. The zero Refusal
// refuses nothing.
type Refusal struct{ Code, Field, Why string }

// The codes of refusals.
const (
	CodeInvalid  = "invalid_command"
	CodeExists   = "token_exists"
	CodeNotFound = "token_not_found"
	CodeTooMany  = "too_many_tokens"

	CodeSignInChanged = "sign_in_changed"
	CodeForbidden     = "forbidden"
	CodeNoNamespace   = "namespace_not_found"
)

// New returns the token that is made of x. It adds what only the table knows: the number, and the name of the token that asked for it. secret is the
// SHA-256 of the token's secret, and lifetime is how long it holds; 0: for ever.
func (t *Table) New(x Token, secret []byte, lifetime int64) (*Token, Refusal) {
	x.Number, x.Creator = max(t.Last, Root)+1, t.name(x.CreatedBy)
	if lifetime > 0 {
		x.Expires = after(x.CreatedAt, lifetime)
	}
	if r := t.give(&x, secret, lifetime, "ttl"); r != (Refusal{}) {
		return nil, r
	}
	field, why := x.Wrong()
	switch {
	case why != "":
		return nil, Refusal{CodeInvalid, field, why}
	case t.Named(x.Name) != nil:
		return nil, Refusal{CodeExists, "name", "an access token of this name exists"}
	case x.Subject != "" && t.Len() >= MaxSessions:
		return nil, Refusal{CodeTooMany, "", "the cluster has 50000 access tokens: no session begins until some have ended"}
	case t.Len() >= MaxTokens:
		return nil, Refusal{CodeTooMany, "", "the cluster has 100000 access tokens, and keeps no more"}
	}
	return &x, Refusal{}
}

// Find returns the token of a name, if it has this number; 0: any number.
func (t *Table) Find(name string, number uint64) (*Token, Refusal) {
	if x := t.Named(name); x != nil && (number == 0 || number == x.Number) {
		return x, Refusal{}
	}
	return nil, Refusal{CodeNotFound, "name", "there is no such access token"}
}

// Rotated returns a token with another secret. The former secret holds for overlap more; 0: no longer.
func (t *Table) Rotated(name string, number uint64, secret []byte, overlap, now int64) (*Token, Refusal) {
	x, r := t.Find(name, number)
	if x == nil {
		return nil, r
	}
	next := *x
	next.RotatedAt, next.Former, next.FormerUntil = now, Hash{}, 0
	if overlap > 0 {
		next.Former, next.FormerUntil = x.Hash, after(now, overlap)
	}
	if r = t.give(&next, secret, overlap, "overlap"); r != (Refusal{}) {
		return nil, r
	}
	return &next, r
}

// give gives x a secret that no token has.
func (t *Table) give(x *Token, secret []byte, length int64, field string) Refusal {
	x.Hash = Hash{}
	switch {
	case copy(x.Hash[:], secret) != len(secret) || len(secret) != len(x.Hash) || x.Hash == Hash{}:
		return Refusal{CodeInvalid, "hash", "is the SHA-256 of a secret: 32 bytes"}
	case length < 0:
		return Refusal{CodeInvalid, field, "is negative"}
	case t.hashes[x.Hash] != nil:
		return Refusal{CodeExists, "hash", "an access token has this secret, or had it before its last rotation"}
	}
	return Refusal{}
}

// after returns a time so much later, without overflow. It is never 0.
func after(now, length int64) int64 {
	const end = 1<<63 - 1
	if now > end-length {
		return end
	}
	return cmp.Or(now+length, 1)
}

// ReplaceSignIn replaces the settings of sign-in that have the rev former (SPEC A7). rev is the machine's last rev. The write adds one to it.
func (t *Table) ReplaceSignIn(settings string, former uint64, rev *uint64) Refusal {
	switch {
	case len(settings) > MaxSignIn:
		return Refusal{CodeInvalid, "settings", "are at most 64 KiB"}
	case former != t.SignInRev:
		return Refusal{CodeSignInChanged, "", "others have changed the settings of sign-in meanwhile"}
	}
	*rev++
	t.setSignIn(settings, *rev)
	return Refusal{}
}
