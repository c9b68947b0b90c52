// Package extworker runs a handler for the tasks of an external behavior (SPEC section 8). It accepts the tasks from a
// cluster, keeps their leases, tells the handler when to stop, and reports the outcome.
//
//	w, err := extworker.New(extworker.Config{
//		Client: client, Behavior: "resize", Worker: hostname, Concurrency: 8,
//		Handler: func(ctx context.Context, t *extworker.Task) (any, error) {
//			var p struct{ URL string }
//			if err := t.Params(&p); err != nil {
//				return nil, extworker.Permanent(err)
//			}
//			return resize(ctx, p.URL)
//		},
//	})
//	...
//	err = w.Run(ctx)
//
// The client has the token of the worker, and says whom it trusts, for a cluster that asks who comes (client.Config).
//
// A task runs at least once. At most one attempt of it can report (SPEC L1). If a worker loses its lease, because the
// network or its process stood still, the cluster gives the task to another worker, and refuses the report of this worker. The
// handler's context ends as soon as the worker can know of the loss. What a handler does outside of the cluster must bear
// being done twice.
package extworker
