package access

import (
	"cmp"

	"github.com/taskrt/taskrt/task/hash"
)

// Hash is the SHA-256 of a token's secret.
type Hash [32]byte

// Token is an access token as the replicated state keeps it: everything but its secret (SPEC A4). Times are Unix milliseconds of the log's
// clock, and 0 is none. Values are immutable.
type Token struct {
	Number      uint64 `cbor:"1,keyasint"`           // every command names it; no number is given twice
	Name        string `cbor:"2,keyasint"`           // unique
	Grant       Grant  `cbor:"3,keyasint"`           //
	Hash        Hash   `cbor:"4,keyasint"`           //
	Former      Hash   `cbor:"5,keyasint"`           // of the secret before the last rotation; zero: there is none, or it holds no longer
	FormerUntil int64  `cbor:"6,keyasint,omitempty"` // until when the former secret holds
	Expires     int64  `cbor:"7,keyasint,omitempty"`
	CreatedAt   int64  `cbor:"8,keyasint,omitempty"`
	RotatedAt   int64  `cbor:"9,keyasint,omitempty"`
	CreatedBy   uint64 `cbor:"10,keyasint,omitempty"` // number of the token that asked for it; 0: the cluster was open
	Creator     string `cbor:"11,keyasint,omitempty"` // its name then
	Rate        int64  `cbor:"12,keyasint,omitempty"` // requests per second and node; 0: no limit
	Rev         uint64 `cbor:"13,keyasint"`
	Subject     string `cbor:"14,keyasint,omitempty"` // of a session (SPEC A7): who has signed in; "": it is no session
}

// Root is the number of the root token. It follows from the cluster secret and is not in the state.
const Root uint64 = 1

// RootName is the name of the root token. No other token has it.
const RootName = "root"

// MaxRate bounds Token.Rate.
const MaxRate = 1_000_000

// Limits of sign-in (SPEC A7).
const (
	MaxSession = 12 * 60 * 60 * 1000 // lifetime of a session, in milliseconds
	MaxSubject = 320                 // bytes
	MaxSignIn  = 64 << 10            // bytes of the settings

	// MaxSessions is the number of tokens from which on no session begins: people who sign in must not take the place of tokens that an admin makes.
	MaxSessions = MaxTokens / 2
)

// Holds reports whether the token has not expired at a time.
func (t *Token) Holds(now int64) bool { return t.Expires == 0 || t.Expires > now }

// next is when something of the token ends by itself; 0: never.
func (t *Token) next() int64 {
	if t.FormerUntil == 0 || t.Expires == 0 {
		return cmp.Or(t.FormerUntil, t.Expires)
	}
	return min(t.FormerUntil, t.Expires)
}

// Wrong says what is wrong with a token: the field, and why. It returns "" for both if nothing is.
func (t *Token) Wrong() (field, why string) {
	switch {
	case !IsName(t.Name) || t.Name == RootName:
		return "name", "a token's name is 2 to 64 characters of a-z 0-9 . _ -, begins with a letter, and is not root"
	case t.Hash == Hash{}:
		return "hash", "is the SHA-256 of a secret: 32 bytes"
	case t.Rate < 0 || t.Rate > MaxRate:
		return "rate", "is 0 to 1000000 requests per second"
	case len(t.Subject) > MaxSubject:
		return "subject", "is at most 320 bytes"
	case t.Subject != "" && (t.Expires == 0 || t.Expires-t.CreatedAt > MaxSession):
		return "ttl", "of a session is at most 12 h"
	}
	return t.Grant.Check()
}

// Lengths of names.
const (
	MinName = 2
	MaxName = 64
)

// IsName reports whether a token could have the name. It holds for RootName, too.
func IsName(name string) bool {
	return len(name) >= MinName && len(name) <= MaxName && 'a' <= name[0] && name[0] <= 'z' && isWord(name)
}

// hash hashes every field.
func (t *Token) hash(kind uint64) uint64 {
	h := hash.New(kind)
	h.Word(t.Number)
	h.Str(t.Name)
	h.Word(uint64(t.Grant.Roles))
	h.Strs(t.Grant.Namespaces)
	h.Strs(t.Grant.Behaviors)
	h.Bytes(t.Hash[:])
	h.Bytes(t.Former[:])
	h.Int(t.FormerUntil)
	h.Int(t.Expires)
	h.Int(t.CreatedAt)
	h.Int(t.RotatedAt)
	h.Word(t.CreatedBy)
	h.Str(t.Creator)
	h.Int(t.Rate)
	h.Word(t.Rev)
	if t.Subject != "" {
		h.Str(t.Subject)
	}
	return h.Sum()
}
