package client

import (
	"context"
	"strconv"
)

type (
	clientKey struct{}
	spareKey  struct{}
)

// WithIdempotencyKey returns a context under which a call of a Client that changes something is done once. The client sends the
// key, so it may send a request again whose outcome is unknown (SPEC H4). A key belongs to one request: another request of the
// same kind under the same key is refused.
func WithIdempotencyKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, clientKey{}, key)
}

// WithSpareKey is WithIdempotencyKey for a key that the request does not need. A request that may be sent again anyway goes without it. So does any
// other request if the cluster keeps as many keys as it can.
func WithSpareKey(ctx context.Context, key string) context.Context {
	return context.WithValue(WithIdempotencyKey(ctx, key), spareKey{}, true)
}

func isSpare(ctx context.Context) bool { return ctx.Value(spareKey{}) != nil }

func idempotencyKey(ctx context.Context) string {
	key, _ := ctx.Value(clientKey{}).(string)
	return key
}

// partOf tells the keys of several bodies of one call apart.
func partOf(n int) string {
	if n < 2 {
		return ""
	}
	return "~" + strconv.Itoa(n)
}
