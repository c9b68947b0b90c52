package api

import "context"

// KeyHeader is the header by which a client makes a request safe to send again (SPEC H4).
const KeyHeader = "Idempotency-Key"

// MaxKey bounds an Idempotency-Key, in visible ASCII characters.
const MaxKey = 255

// Once says that what a call proposes is proposed once, however often the call is made (SPEC H4). Key is the hash of the
// client's key with its namespace and route. Body is the hash of the request. A repeat with the same Key and Body is answered
// from memory. A call with the same Key and another Body is refused as idempotency_mismatch. Neither hash is 0.
type Once struct{ Key, Body uint64 }

type onceKey struct{}

// WithOnce returns a context whose calls are done once.
func WithOnce(ctx context.Context, o Once) context.Context {
	return context.WithValue(ctx, onceKey{}, o)
}

// OnceOf returns the Once of a context. WithOnce has put it there; the handler does so if a request has a KeyHeader.
func OnceOf(ctx context.Context) (o Once, ok bool) {
	o, ok = ctx.Value(onceKey{}).(Once)
	return o, ok
}

// CheckKey checks an Idempotency-Key; nil or an *Error.
func CheckKey(key string) error {
	if key == "" || len(key) > MaxKey || !only(key, func(c byte) bool { return '!' <= c && c <= '~' }) {
		e := FieldError(CodeInvalidField, KeyHeader, "must be 1 to %d visible ASCII characters", MaxKey)
		e.Limit = MaxKey
		return e
	}
	return nil
}
