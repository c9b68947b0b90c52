package worker

import (
	"context"
	"time"

	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/runtime/fetch"
)

// Outside does for attempts what a capability allows to them, in another process (SPEC A10). The errors are those that
// runtime.Outside names.
type Outside interface {
	Secret(ctx context.Context, l Lease, name string) ([]byte, error)
	MaySubmit(ctx context.Context, l Lease, behavior string) error
	HTTPLimits(ctx context.Context, l Lease) (request, response int64, err error)
	HTTP(ctx context.Context, l Lease, q *fetch.Request) (*fetch.Response, error)
}

// Lease is an attempt's right to act outside.
type Lease struct {
	Token uint64
	Until time.Duration // CLOCK_BOOTTIME at which guests must stop unless the session is renewed (SPEC L5)
}

// outside is Config.Outside as one attempt sees it.
type outside struct{ *run }

var _ runtime.Outside = outside{}

func (o outside) lease() Lease { return Lease{Token: o.token, Until: o.s.fence.until()} }

// Secret implements runtime.Outside.
func (o outside) Secret(ctx context.Context, name string) ([]byte, error) {
	return o.s.w.cfg.Outside.Secret(ctx, o.lease(), name)
}

// MaySubmit implements runtime.Outside.
func (o outside) MaySubmit(ctx context.Context, behavior string) error {
	return o.s.w.cfg.Outside.MaySubmit(ctx, o.lease(), behavior)
}

// HTTPLimits implements runtime.Outside.
func (o outside) HTTPLimits(ctx context.Context) (request, response int64, err error) {
	return o.s.w.cfg.Outside.HTTPLimits(ctx, o.lease())
}

// HTTP implements runtime.Outside.
func (o outside) HTTP(ctx context.Context, q *fetch.Request) (*fetch.Response, error) {
	return o.s.w.cfg.Outside.HTTP(ctx, o.lease(), q)
}
