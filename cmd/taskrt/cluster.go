package main

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api"
)

func (p *program) clusterCommand() *cli.Command {
	return &cli.Command{
		Name: "cluster", Usage: "show the cluster", Category: "cluster",
		Subcommands: []*cli.Command{
			{Name: "status", Usage: "show nodes, workers and totals", Flags: clientFlags(), Action: p.client(clusterStatus)},
		},
	}
}

func clusterStatus(_ *cli.Context, cl *client) error {
	s, err := cl.Cluster(cl.ctx)
	if err != nil {
		return err
	}
	return cl.print(func(w io.Writer) { describeCluster(w, s) })
}

func describeCluster(w io.Writer, s *api.Cluster) {
	fmt.Fprintln(w, "NODE\tROLE\tHTTP\tRAFT\tAPPLIED\tDIGEST\tVERSION")
	for _, n := range s.Nodes {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", n.ID, n.Role, orDash(n.HTTP), n.Raft, n.AppliedIndex, orDash(n.Digest), orDash(n.Version))
	}
	fmt.Fprintln(w, "\nWORKER\tNODE\tSLOTS\tRUNNING")
	for _, k := range s.Workers {
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\n", k.ID, orDash(k.Node), k.Slots, k.Running)
	}
	t := s.Tasks
	fmt.Fprintf(w, "\nleader %s; tasks: %d created, %d running, %d retrying, %d succeeded, %d failed\n",
		orDash(s.Leader), t.Created, t.Running, t.Retrying, t.Success, t.Failure)
}
