package server

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
)

// keyed is the Idempotency-Key of a request, and what belongs to it. The namespace and the body become known while the request
// is read. Without a key the other fields mean nothing.
type keyed struct {
	key, route, method, target string
	namespace                  string
	body                       []byte
}

// hashes returns what the Service is told of the key. A key belongs to the token that uses it (SPEC A4): nobody gets the answer to another's
// request.
func (k *keyed) hashes(p *auth.Principal) api.Once {
	scope := []string{k.namespace, k.route, k.key}
	if p != nil {
		scope = slices.Insert(scope, 2, strconv.FormatUint(p.Number, 10))
	}
	return api.Once{
		Key:  hashOf(scope...),
		Body: hashOf(k.method, k.target, string(k.body)),
	}
}

// hashOf returns the first 8 bytes of SHA-256 over the texts, with a zero byte between them; it is never 0. Only the last text
// may contain a zero byte.
func hashOf(texts ...string) uint64 {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	return max(binary.BigEndian.Uint64(sum[:8]), 1)
}

// readKey reads the Idempotency-Key of a request that may change something.
func readKey(r *request) (k keyed, err error) {
	given := r.Header.Values(api.KeyHeader)
	if len(given) == 0 || !r.route.changes() {
		return k, nil
	}
	if len(given) > 1 {
		return k, api.FieldError(api.CodeInvalidField, api.KeyHeader, "is given twice")
	}
	if err := api.CheckKey(given[0]); err != nil {
		return k, err
	}
	return keyed{
		key: given[0], route: r.route.method + " " + r.route.path, method: r.Method,
		target: r.URL.EscapedPath() + "?" + r.query.values.Encode(), namespace: cmp.Or(r.query.values.Get("namespace"), api.DefaultNamespace),
	}, nil
}

// holds notes the body of a request with a key. A request without a key gives its body back before it waits.
func (k *keyed) holds(body []byte) {
	if k.key != "" {
		k.body = body
	}
}
