package reach

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/contexts"
	"github.com/taskrt/taskrt/trust"
)

// Meet asks a server of a new context which cluster it is of, and whether the token holds there: the context is then for this cluster and for
// no other (SPEC C2). offline asks nobody, and checks only what can be checked here. An error is a *keys.UsageError, or the cluster's.
func Meet(ctx context.Context, kept *contexts.Context, offline bool) error {
	config := client.Config{URLs: kept.Servers}
	var mu sync.Mutex
	ca := kept.CA
	if ca != "" {
		var err error
		if config.TLS, err = trust.LearningClient(ca, func(next string) { mu.Lock(); ca = next; mu.Unlock() }); err != nil {
			return usagef("--ca: %w", err)
		}
	}
	if kept.Token != "" {
		config.Token = client.StaticToken(kept.Token)
	}
	cl, err := client.New(config)
	if err != nil {
		return usagef("--server: %w", err)
	}
	defer cl.Close()
	if offline {
		return nil
	}
	if kept.Cluster, err = clusterOf(ctx, cl, kept.Token != ""); err != nil {
		return fmt.Errorf("%w; nothing is kept (--offline keeps it unasked)", err)
	}
	mu.Lock()
	defer mu.Unlock()
	kept.CA = ca
	return nil
}

// clusterOf asks for the ID of the cluster, and whether the client's token holds there, if it has one. A cluster that is open takes any.
func clusterOf(ctx context.Context, cl *client.Client, hasToken bool) (string, error) {
	ctx, meta := api.WithMeta(ctx)
	var err error
	if hasToken {
		_, err = client.NewAccess(cl).Self(ctx)
	} else {
		err = cl.Ready(ctx)
	}
	code := api.CodeOf(err)
	if err != nil && code != api.CodeTokenNotFound && code != api.CodeNotReady {
		return "", err
	}
	if meta.Cluster() == "" {
		return "", errors.Join(api.NewError(api.CodeNotReady, "the server does not say which cluster it is of"), err)
	}
	return meta.Cluster(), nil
}
