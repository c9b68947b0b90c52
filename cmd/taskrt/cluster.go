package main

import (
	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/show"
	"github.com/taskrt/taskrt/internal/terminal"
)

func (p *program) clusterCommand() *cli.Command {
	return &cli.Command{
		Name: "cluster", Usage: "show the cluster, drain its nodes, convert a node's log", Category: "cluster",
		Subcommands: []*cli.Command{
			{Name: "status", Usage: "show nodes, workers and totals", Flags: clientFlags(), Action: p.client(clusterStatus)},
			{Name: "workers", Usage: "show all workers, programs with external leases too", Flags: clientFlags(), Action: p.client(clusterWorkers)},
			{Name: "drain", Usage: "give a node's worker nothing new; what runs there goes on", ArgsUsage: "NODE", Flags: clientFlags(), Action: p.client(clusterDrain)},
			{Name: "undrain", Usage: "give a node's worker tasks again", ArgsUsage: "NODE", Flags: clientFlags(), Action: p.client(clusterDrain)},
			p.migrateLogCommand(),
		},
	}
}

func clusterStatus(_ *cli.Context, cl *client) error {
	s, err := cl.Cluster(cl.ctx)
	if err != nil {
		return err
	}
	return cl.print(func(w *terminal.Table) { show.Cluster(w, s) })
}

func clusterWorkers(_ *cli.Context, cl *client) error {
	workers, err := cl.Workers(cl.ctx)
	if err != nil {
		return err
	}
	return cl.print(func(w *terminal.Table) { show.Workers(w, workers) })
}

// clusterDrain drains or undrains a node.
func clusterDrain(c *cli.Context, cl *client) error {
	n, err := cl.Drain(cl.once(c), c.Args().First(), c.Command.Name == "drain")
	if err != nil {
		return err
	}
	return cl.print(func(w *terminal.Table) { show.Nodes(w, []api.Node{*n}) })
}
