// Package keyed reads the Idempotency-Key of a request, and makes of it what the Service goes by (SPEC H4).
package keyed

import (
	"crypto/sha256"
	"encoding/binary"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
)

// Once is the Idempotency-Key of a request, and what belongs to it. The namespace and the body become known while the request
// is read. Without a key the other fields mean nothing.
type Once struct {
	Key, Route, Method, Target string
	Namespace                  string
	body                       []byte
}

// Hashes returns what the Service is told of the key. A key belongs to the token that uses it (SPEC A4): nobody gets the answer to another's
// request.
func (k *Once) Hashes(p *auth.Principal) api.Once {
	scope := []string{k.Namespace, k.Route, k.Key}
	if p != nil {
		scope = slices.Insert(scope, 2, strconv.FormatUint(p.Number, 10))
	}
	return api.Once{
		Key:  hashOf(scope...),
		Body: hashOf(k.Method, k.Target, string(k.body)),
	}
}

// hashOf returns the first 8 bytes of SHA-256 over the texts, with a zero byte between them; it is never 0. Only the last text
// may contain a zero byte.
func hashOf(texts ...string) uint64 {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	return max(binary.BigEndian.Uint64(sum[:8]), 1)
}

// Read returns the key that a header has; "": it has none.
func Read(h http.Header) (string, error) {
	given := h.Values(api.KeyHeader)
	if len(given) == 0 {
		return "", nil
	}
	if len(given) > 1 {
		return "", api.FieldError(api.CodeInvalidField, api.KeyHeader, "is given twice")
	}
	return given[0], api.CheckKey(given[0])
}

// Holds notes the body of a request with a key. A request without a key gives its body back before it waits.
func (k *Once) Holds(body []byte) {
	if k.Key != "" {
		k.body = body
	}
}
