package trust

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
)

// tokenPrefix begins the text of a token.
const tokenPrefix = "trt_"

// Token is the credential of a user of the API (SPEC A4). Only its Hash is kept.
type Token [secretBytes]byte

// DrawToken returns a new token.
func DrawToken() (t Token) {
	_, _ = rand.Read(t[:]) // never fails (crypto/rand)
	return t
}

// ParseToken reads the text of a token.
func ParseToken(text string) (t Token, err error) {
	b, err := decode(tokenPrefix, text)
	if err == nil && len(b) != secretBytes {
		err = errDamaged
	}
	copy(t[:], b)
	return t, err
}

// Text is what a client sends: `Authorization: Bearer TEXT`.
func (t Token) Text() string { return encode(tokenPrefix, t[:]) }

// String hides the token, because what has this method ends up in logs.
func (t Token) String() string { return tokenPrefix + "…" }

// Hash is what the cluster keeps of the token.
func (t Token) Hash() [sha256.Size]byte { return sha256.Sum256(t[:]) }

// HashText is Hash in hex, as the API takes it.
func (t Token) HashText() string {
	hash := t.Hash()
	return hex.EncodeToString(hash[:])
}

// The labels of tokens that follow from secrets.
const (
	rootLabel        = "taskrt/v1/root-token"
	workerTokenLabel = "taskrt/v1/worker-token"
)

// RootToken is the token that follows from the cluster secret. It may do everything.
func (s Secret) RootToken() Token { return s.derive(rootLabel) }

// Token is the token that follows from the worker secret. It may ask where the members of the cluster are, and no more.
func (w WorkerSecret) Token() Token { return Secret(w.seed).derive(workerTokenLabel) }

// workerToken is the Token of the worker secret of s, without the authorities that a worker trusts.
func (s Secret) workerToken() Token { return WorkerSecret{seed: s.derive(workerLabel)}.Token() }
