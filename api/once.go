package api

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"net/http"
	"strconv"
	"strings"
)

// KeyHeader is the header by which a client makes a request safe to send again (SPEC H4).
const KeyHeader = "Idempotency-Key"

// MaxKey bounds an Idempotency-Key, in visible ASCII characters.
const MaxKey = 255

// Once says that what a call proposes is proposed once, however often the call is made (SPEC H4): Key is the hash of the
// client's key with its namespace and route, Body that of the request. A repeat with the same Key and Body is answered
// from memory; another Body is refused as idempotency_mismatch. Neither is 0.
type Once struct{ Key, Body uint64 }

type onceKey struct{}

// WithOnce returns a context whose calls are done once.
func WithOnce(ctx context.Context, o Once) context.Context {
	return context.WithValue(ctx, onceKey{}, func() Once { return o })
}

// OnceOf returns what WithOnce, or the handler by the header, put into the context.
func OnceOf(ctx context.Context) (o Once, ok bool) {
	f, ok := ctx.Value(onceKey{}).(func() Once)
	if !ok {
		return Once{}, false
	}
	return f(), true
}

// keyed is a request with an Idempotency-Key. Namespace and body become known while it is read.
type keyed struct {
	key, route, method, target string
	namespace                  string
	body                       []byte
}

// once hashes what is known when the Service asks.
func (k *keyed) once() Once {
	return Once{
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

// withoutOnce returns a context whose calls are done as often as they are made: of a request whose body is not held.
func withoutOnce(ctx context.Context) context.Context { return context.WithValue(ctx, onceKey{}, nil) }

type keyedKey struct{}

// withKey reads the Idempotency-Key of a request that may change something.
func withKey(r *http.Request, found *route) (*http.Request, error) {
	given := r.Header.Values(KeyHeader)
	if len(given) == 0 || !found.changes() {
		return r, nil
	}
	if len(given) > 1 {
		return nil, FieldError(CodeInvalidField, KeyHeader, "is given twice")
	}
	if err := checkKey(given[0]); err != nil {
		return nil, err
	}
	q := queryOf(r)
	k := &keyed{
		key: given[0], route: found.method + " " + found.path, method: r.Method,
		target: r.URL.EscapedPath() + "?" + q.values.Encode(), namespace: q.values.Get("namespace"),
	}
	if k.namespace == "" {
		k.namespace = DefaultNamespace
	}
	ctx := context.WithValue(r.Context(), keyedKey{}, k)
	return r.WithContext(context.WithValue(ctx, onceKey{}, k.once)), nil
}

// keyedOf returns the request's key; a value that nobody looks at if it has none.
func keyedOf(ctx context.Context) *keyed {
	if k, ok := ctx.Value(keyedKey{}).(*keyed); ok {
		return k
	}
	return &keyed{}
}

func checkKey(key string) *Error {
	if key == "" || len(key) > MaxKey || !only(key, func(c byte) bool { return '!' <= c && c <= '~' }) {
		e := FieldError(CodeInvalidField, KeyHeader, "must be 1 to %d visible ASCII characters", MaxKey)
		e.Limit = MaxKey
		return e
	}
	return nil
}

type clientKey struct{}

// WithIdempotencyKey makes the calls of a Client that change something be done once: it sends the key, and may send
// again what has an unknown outcome (SPEC H4). A key belongs to one request: another request of the same kind under it is
// refused.
func WithIdempotencyKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, clientKey{}, key)
}

func idempotencyKey(ctx context.Context) string {
	key, _ := ctx.Value(clientKey{}).(string)
	return key
}

// partOf tells the keys of the bodies apart that one call takes.
func partOf(n int) string {
	if n < 2 {
		return ""
	}
	return "~" + strconv.Itoa(n)
}
