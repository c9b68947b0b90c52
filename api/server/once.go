package server

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"net/http"
	"strings"

	"github.com/taskrt/taskrt/api"
)

// keyed is a request with an Idempotency-Key. Namespace and body become known while it is read.
type keyed struct {
	key, route, method, target string
	namespace                  string
	body                       []byte
}

// once hashes what is known when the Service asks.
func (k *keyed) once() api.Once {
	return api.Once{
		Key:  hashOf(k.namespace, k.route, k.key),
		Body: hashOf(k.method, k.target, string(k.body)),
	}
}

// hashOf is the first 8 bytes of SHA-256 over the texts with a zero byte between them, never 0. None but the last
// text can hold a zero byte.
func hashOf(texts ...string) uint64 {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	return max(binary.BigEndian.Uint64(sum[:8]), 1)
}

type keyedKey struct{}

// withKey reads the Idempotency-Key of a request that may change something.
func withKey(r *http.Request, found *route) (*http.Request, error) {
	given := r.Header.Values(api.KeyHeader)
	if len(given) == 0 || !found.changes() {
		return r, nil
	}
	if len(given) > 1 {
		return nil, api.FieldError(api.CodeInvalidField, api.KeyHeader, "is given twice")
	}
	if err := api.CheckKey(given[0]); err != nil {
		return nil, err
	}
	q := queryOf(r)
	k := &keyed{
		key: given[0], route: found.method + " " + found.path, method: r.Method,
		target: r.URL.EscapedPath() + "?" + q.values.Encode(), namespace: q.values.Get("namespace"),
	}
	if k.namespace == "" {
		k.namespace = api.DefaultNamespace
	}
	ctx := context.WithValue(r.Context(), keyedKey{}, k)
	return r.WithContext(api.WithOnceOf(ctx, k.once)), nil
}

// keyedOf returns the request's key; a value that nobody looks at if it has none.
func keyedOf(ctx context.Context) *keyed {
	if k, ok := ctx.Value(keyedKey{}).(*keyed); ok {
		return k
	}
	return &keyed{}
}
