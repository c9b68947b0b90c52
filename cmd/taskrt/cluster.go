package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/internal/terminal"
	"github.com/taskrt/taskrt/internal/wall"
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
	return cl.print(func(w *terminal.Table) { describeCluster(w, s) })
}

func describeCluster(w *terminal.Table, s *api.Cluster) {
	describeNodes(w, s.Nodes)
	w.Printf("\n")
	describeWorkers(w, s.Workers)
	w.Printf("\n%s\n", levelLine(s.FeatureLevel))
	t := s.Tasks
	w.Printf("leader %s; tasks: %d created, %d running, %d retrying, %d repeating, %d succeeded, %d failed\n",
		orDash(s.Leader), t.Created, t.Running, t.Retrying, t.Repeating, t.Success, t.Failure)
}

// levelLine says which feature level the cluster has reached, and who keeps it from the next one (SPEC C9).
func levelLine(l api.FeatureLevel) string {
	switch {
	case l.Level == l.Known:
		return fmt.Sprintf("feature level %d", l.Level)
	case len(l.HeldBy) == 0:
		return fmt.Sprintf("feature level %d; %d when all members have known it for ten minutes", l.Level, l.Level+1)
	}
	return fmt.Sprintf("feature level %d; %d is held up by %s", l.Level, l.Level+1, strings.Join(l.HeldBy, ", "))
}

func describeNodes(w *terminal.Table, nodes []api.Node) {
	w.Row("NODE", "ROLE", "HTTP", "RAFT", "APPLIED", "DIGEST", "BLOBS", "DRAINED", "VERSION")
	for _, n := range nodes {
		w.Row(n.ID, n.Role, orDash(n.HTTP), n.Raft, n.AppliedIndex, orDash(n.Digest), blobsWord(n.Blobs), n.Drained, orDash(n.Version))
	}
}

// blobsWord says in what state the files of a node are.
func blobsWord(b *api.NodeBlobs) string {
	switch {
	case b == nil:
		return "-"
	case b.Error != "":
		return "disk fails"
	case b.Missing > 0:
		return fmt.Sprintf("%d missing", b.Missing)
	}
	return "ok"
}

func describeWorkers(w *terminal.Table, workers []api.Worker) {
	w.Row("WORKER", "KIND", "NODE", "SLOTS", "RUNNING", "DRAINED", "WALL")
	for _, k := range workers {
		slots := "-"
		if k.Slots > 0 {
			slots = fmt.Sprint(k.Slots)
		}
		w.Row(k.ID, k.Kind, orDash(k.Node), slots, k.Running, k.Drained, wallWord(k.Wall))
	}
}

// wallWord lists what is in force around a worker's guests, and with a minus what is not.
func wallWord(w *api.Wall) string {
	if w == nil {
		return "-"
	}
	return orDash(strings.Join(wall.State(*w).Words(), ","))
}

func clusterWorkers(_ *cli.Context, cl *client) error {
	workers, err := cl.Workers(cl.ctx)
	if err != nil {
		return err
	}
	return cl.print(func(w *terminal.Table) { describeWorkers(w, workers) })
}

// clusterDrain drains or undrains a node.
func clusterDrain(c *cli.Context, cl *client) error {
	n, err := cl.Drain(cl.once(c), c.Args().First(), c.Command.Name == "drain")
	if err != nil {
		return err
	}
	return cl.print(func(w *terminal.Table) { describeNodes(w, []api.Node{*n}) })
}
