// Package top looks at what a cluster does now, behavior by behavior (SPEC U3).
package top

import (
	"cmp"
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/api/insight"
)

const (
	// most is how many behaviors are counted, and shown how many of them are shown: those with the most to do.
	most, shown = 200, 30
	// abreast is how many requests are under way at a time.
	abreast = 8
	// window is the time of which outcomes are counted.
	window = time.Minute
)

// View is what a cluster does at a moment.
type View struct {
	Cluster   *api.Cluster `json:"cluster,omitempty"` // absent: the token may not see it
	Behaviors []Behavior   `json:"behaviors"`         // those with the most to do first
	Hidden    int          `json:"hidden,omitempty"`  // behaviors that are not shown
}

// Behavior is what the tasks of a behavior do.
type Behavior struct {
	Name   string `json:"name"`
	Paused bool   `json:"paused"`
	api.BehaviorStats
	Failed *int64 `json:"failed,omitempty"` // tasks that have failed for good; absent: the server does not say
	Done   *int64 `json:"done,omitempty"`   // tasks with an outcome of the last minute; absent: the server does not say
	Over   bool   `json:"over,omitempty"`   // of Done there may be more
}

// busy is how much a behavior has to do.
func (b *Behavior) busy() int64 { return b.Running + b.Due + b.Retrying }

// Look looks at a namespace, and at the whole cluster as far as the caller may. What a former server does not know is left out.
func Look(ctx context.Context, cl *client.Client, namespace string, now time.Time) (*View, error) {
	v := &View{Behaviors: []Behavior{}}
	var err error
	if v.Cluster, err = cl.Cluster(ctx); err != nil && api.CodeOf(err) != api.CodeForbidden {
		return nil, err
	}
	all, err := cl.Behaviors(ctx, namespace)
	if err != nil {
		return nil, err
	}
	v.Hidden = max(len(all)-most, 0)
	for _, b := range all[:len(all)-v.Hidden] {
		v.Behaviors = append(v.Behaviors, Behavior{Name: b.Name, Paused: b.Paused})
	}
	if err := v.each(ctx, func(ctx context.Context, b *Behavior) error {
		s, err := cl.BehaviorStats(ctx, namespace, b.Name)
		if api.CodeOf(err) == api.CodeBehaviorNotFound { // it has just gone
			return nil
		}
		if err == nil {
			b.BehaviorStats = *s
		}
		return err
	}); err != nil {
		return nil, err
	}
	if err := v.failures(ctx, cl, namespace); err != nil {
		return nil, err
	}
	slices.SortStableFunc(v.Behaviors, func(a, b Behavior) int {
		return cmp.Or(cmp.Compare(b.busy(), a.busy()), cmp.Compare(a.Name, b.Name))
	})
	if extra := len(v.Behaviors) - shown; extra > 0 {
		v.Behaviors, v.Hidden = v.Behaviors[:shown], v.Hidden+extra
	}
	return v, v.each(ctx, func(ctx context.Context, b *Behavior) error {
		from := now.Add(-window)
		r, err := cl.Tasks(ctx, api.ListRequest{Namespace: namespace, Behaviors: []string{b.Name}, Finished: api.TimeRange{From: &from}, Count: true, Limit: 1})
		switch code := api.CodeOf(err); {
		case code == api.CodeUnknownField, code == api.CodeForbidden:
			return nil
		case err == nil:
			b.Done, b.Over = r.Count, r.CountMore
		}
		return err
	})
}

// each does something for all behaviors, some at a time.
func (v *View) each(ctx context.Context, do func(context.Context, *Behavior) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(abreast)
	for i := range v.Behaviors {
		g.Go(func() error { return do(ctx, &v.Behaviors[i]) })
	}
	return g.Wait()
}

// failures counts what has failed for good.
func (v *View) failures(ctx context.Context, cl *client.Client, namespace string) error {
	r, err := client.NewInsight(cl).Failures(ctx, insight.FailuresRequest{Namespace: namespace, Limit: insight.MaxGroups})
	switch code := api.CodeOf(err); {
	case code == api.CodeNotFound, code == api.CodeForbidden:
		return nil
	case err != nil:
		return err
	}
	of := map[string]int64{}
	for _, g := range r.Groups {
		of[g.Behavior] += g.Final
	}
	for i := range v.Behaviors {
		v.Behaviors[i].Failed = new(of[v.Behaviors[i].Name])
	}
	return nil
}
