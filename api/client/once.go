package client

import (
	"context"
	"strconv"
)

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
