package auth

import (
	"context"
	"sync/atomic"

	"github.com/taskrt/taskrt/task/access"
)

// Audited are the roles with which no change is made that is not recorded (SPEC A8).
const Audited = access.Deploy | access.Operate | access.Admin

// Trail is what the audit records of a call besides who makes it: from where and by which route. It is recorded if the call is made with one
// of the roles Audited. Whoever changes a task because it created the task leaves no record.
type Trail struct {
	From, Route string
	made        atomic.Bool
}

// Mark says that the call is made with one of the roles Audited. A nil Trail is not recorded.
func (c *Trail) Mark() {
	if c != nil {
		c.made.Store(true)
	}
}

// Recorded reports whether what the call changes is recorded.
func (c *Trail) Recorded() bool { return c != nil && c.made.Load() }

// Marks reports whether who passes by the rule makes the call with one of the roles Audited, whatever it is about.
func (r Rule) Marks(p *Principal) bool {
	return (r.Of|r.And)&Audited != 0 && p.Grant.Roles&r.Of&^Audited == 0
}

type trailKey struct{}

// WithTrail returns a context whose calls are recorded as c says. nil: they leave no record.
func WithTrail(ctx context.Context, c *Trail) context.Context {
	return context.WithValue(ctx, trailKey{}, c)
}

// TrailOf returns what is recorded of a call. It is nil for calls that change nothing, and where nobody is asked.
func TrailOf(ctx context.Context) *Trail {
	c, _ := ctx.Value(trailKey{}).(*Trail)
	return c
}
