// Package query finds tasks of a node's state by what they are like (SPEC Q1): it keeps columns beside the machine, derived from its
// events, walks them, and has the machine's records verify what they select.
//
//	x := query.New(query.Config{Subscribe: store.SubscribeLazily, Local: store.Local})
//	go x.Run(ctx)
//	err := x.CatchUp(ctx)                       // sees at least what the machine has now
//	page, err := x.Find(ctx, query.Search{Filter: f, Limit: 100}, take)
package query
