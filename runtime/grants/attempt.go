package grants

import (
	"context"
	"fmt"

	"github.com/taskrt/taskrt/runtime/fetch"
)

// Attempt is what is granted to one attempt, in the process that knows the grants: it implements runtime.Outside. An attempt that nobody knows
// has no grants.
type Attempt struct {
	Grants    *Grants
	Client    *fetch.Client
	Namespace string
	Behavior  string
	Known     bool
}

// Secret reads a secret.
func (a Attempt) Secret(_ context.Context, name string) ([]byte, error) {
	if !a.Known {
		return nil, ErrDenied
	}
	return a.Grants.Secret(a.Namespace, a.Behavior, name)
}

// MaySubmit returns nil if the attempt may submit tasks of a behavior.
func (a Attempt) MaySubmit(_ context.Context, behavior string) error {
	if !a.Known || !a.Grants.Tasks(a.Namespace, a.Behavior, behavior) {
		return ErrDenied
	}
	return nil
}

func (a Attempt) rules() ([]*fetch.Rule, error) {
	if !a.Known {
		return nil, fetch.ErrDenied
	}
	rules := a.Grants.HTTP(a.Namespace, a.Behavior)
	if len(rules) == 0 {
		return nil, fmt.Errorf("%w: this worker grants %s in namespace %s no requests", fetch.ErrDenied, a.Behavior, a.Namespace)
	}
	return rules, nil
}

// HTTPLimits returns the longest bodies of a request and of a response that any rule allows.
func (a Attempt) HTTPLimits(context.Context) (request, response int64, err error) {
	rules, err := a.rules()
	for _, r := range rules {
		request, response = max(request, r.MaxRequestBytes), max(response, r.MaxResponseBytes)
	}
	return request, response, err
}

// HTTP makes a request.
func (a Attempt) HTTP(ctx context.Context, q *fetch.Request) (*fetch.Response, error) {
	rules, err := a.rules()
	if err != nil {
		return nil, err
	}
	return a.Client.Do(ctx, rules, q)
}
