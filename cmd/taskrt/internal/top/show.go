package top

import (
	"context"
	"fmt"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/follow"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/show"
	"github.com/taskrt/taskrt/internal/terminal"
)

// MinEvery is how often a view is shown at most.
const MinEvery = 500 * time.Millisecond

// Run shows views: one after the other on a terminal that can, else one.
type Run struct {
	Client    *client.Client
	Namespace string
	Every     time.Duration
	Once      bool // one in any case
	Out       *terminal.Output
	Columns   terminal.Columns
	Encode    func(view any) error // for a program; nil: people read it
}

// Show shows one view, or views until ctx ends.
func (r *Run) Show(ctx context.Context) error {
	look := func() (*View, error) { return Look(ctx, r.Client, r.Namespace, time.Now()) }
	if r.Encode != nil || r.Once || !r.Out.Draws() {
		v, err := look()
		switch {
		case err != nil:
			return err
		case r.Encode != nil:
			return r.Encode(v)
		}
		return r.Out.TableOf(r.Columns, v.Show)
	}
	screen := r.Out.Screen()
	defer screen.Close()
	return follow.Repeat(ctx, r.Every, func() error {
		v, err := look()
		if err != nil {
			return err
		}
		return screen.Show(r.Columns, v.Show)
	})
}

// Show shows it to people.
func (v *View) Show(w *terminal.Table) {
	if c := v.Cluster; c != nil {
		w.Printf("%s\n\n", heading(c))
	}
	show.List(w, v.Behaviors, true, columns)
	if v.Hidden > 0 {
		w.Printf("and %d behaviors more\n", v.Hidden)
	}
	if v.Cluster == nil {
		return
	}
	w.Printf("\n")
	show.List(w, v.Cluster.Workers, true, []show.Column[api.Worker]{
		{Name: "WORKER", Cell: func(k api.Worker) any { return k.ID }},
		{Name: "NODE", Cell: func(k api.Worker) any { return show.OrDash(k.Node) }},
		{Name: "RUNNING", Cell: func(k api.Worker) any { return k.Running }},
		{Name: "SLOTS", Cell: slots},
	})
}

// heading says how the cluster is, in a line.
func heading(c *api.Cluster) string {
	away := 0
	for _, n := range c.Nodes {
		if !n.Reachable {
			away++
		}
	}
	t := c.Tasks
	return fmt.Sprintf("leader %s, %d of %d nodes reachable; tasks: %d created, %d running, %d retrying, %d repeating, %d succeeded, %d failed",
		show.OrDash(c.Leader), len(c.Nodes)-away, len(c.Nodes), t.Created, t.Running, t.Retrying, t.Repeating, t.Success, t.Failure)
}

// slots draws how many slots of a worker are taken. Short tasks wait at the worker: it may have more of them than slots.
func slots(k api.Worker) any {
	switch {
	case k.Drained:
		return "drained"
	case k.Slots == 0:
		return "-"
	}
	return fmt.Sprintf("%s of %d", terminal.Bar(min(k.Running, k.Slots), k.Slots), k.Slots)
}

var columns = []show.Column[Behavior]{
	{Name: "BEHAVIOR", Cell: func(b Behavior) any {
		if b.Paused {
			return b.Name + " (paused)"
		}
		return b.Name
	}},
	{Name: "DUE", Cell: func(b Behavior) any { return b.Due }},
	{Name: "RUNNING", Cell: func(b Behavior) any { return b.Running }},
	{Name: "RETRYING", Cell: func(b Behavior) any { return b.Retrying }},
	{Name: "DELAYED", Cell: func(b Behavior) any { return b.Delayed }},
	{Name: "FAILED", Cell: func(b Behavior) any { return number(b.Failed) }},
	{Name: "DONE/MIN", Cell: func(b Behavior) any {
		if b.Over {
			return number(b.Done) + "+"
		}
		return number(b.Done)
	}},
	{Name: "OLDEST DUE", Cell: func(b Behavior) any {
		if b.Oldest == nil {
			return "-"
		}
		return show.Age(*b.Oldest)
	}},
}

func number(n *int64) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(*n)
}
