package main

import (
	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api"
	apiclient "github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/api/membership"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/show"
	"github.com/taskrt/taskrt/internal/terminal"
)

func (p *program) clusterCommand() *cli.Command {
	force := boolFlag("cluster", "force", "even if too few of those who vote would be left alive: the cluster may then stand still")
	return &cli.Command{
		Name: "cluster", Usage: "show the cluster, change its members, drain its nodes; work on a stopped node's directory", Category: "cluster",
		Subcommands: append([]*cli.Command{
			{Name: "status", Usage: "show nodes, workers and totals", Flags: clientFlags(), Action: p.client(clusterStatus)},
			{Name: "workers", Usage: "show all workers, programs with external leases too", Flags: clientFlags(columnsFlag("cluster")), Action: p.client(clusterWorkers)},
			{Name: "drain", Usage: "give a node's worker nothing new; what runs there goes on", ArgsUsage: "NODE", Flags: clientFlags(), Action: p.client(clusterDrain)},
			{Name: "undrain", Usage: "give a node's worker tasks again", ArgsUsage: "NODE", Flags: clientFlags(), Action: p.client(clusterDrain)},
			changeCommand(p, membership.Approve, "let a node vote as soon as it has caught up",
				"A node with a new ID follows the cluster, and does not count for its majority, until it is approved."),
			changeCommand(p, membership.Demote, "take a node its vote until it is approved again", "", force),
			changeCommand(p, membership.Remove, "remove a node for good",
				"The node stops, and its directory never comes back. An empty one of the same ID is a newcomer. What runs there is taken over.", force),
			{Name: "transfer", Usage: "let another node lead: the one that is named, or the most current one", ArgsUsage: "[NODE]", Flags: clientFlags(), Action: p.client(clusterTransfer)},
		}, offlineCommands(p)...),
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

// changeCommand approves, demotes or removes a node (SPEC C2).
func changeCommand(p *program, a membership.Action, usage, description string, more ...cli.Flag) *cli.Command {
	run := func(c *cli.Context, cl *client) error {
		r, err := apiclient.NewMembers(cl.Client).Change(cl.once(c), c.Args().First(), a, membership.MemberRequest{Force: c.Bool("force")})
		if err != nil {
			return err
		}
		return cl.print(func(w *terminal.Table) { show.Changed(w, a, r) })
	}
	return &cli.Command{Name: string(a), Usage: usage, Description: description, ArgsUsage: "NODE", Flags: clientFlags(more...), Action: p.client(run)}
}

func clusterTransfer(c *cli.Context, cl *client) error {
	r, err := apiclient.NewMembers(cl.Client).Transfer(cl.once(c), membership.LeaderRequest{To: c.Args().First()})
	if err != nil {
		return err
	}
	return cl.print(func(w *terminal.Table) { w.Printf("%s leads\n", r.Leader) })
}
