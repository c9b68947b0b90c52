package main

import (
	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/show"
	"github.com/taskrt/taskrt/internal/terminal"
)

func (p *program) listCommand() *cli.Command {
	const cmd = "list"
	return &cli.Command{
		Name: cmd, Usage: "list tasks in order of creation", Category: "tasks",
		Flags: clientFlags(append(pageFlags(cmd, "tasks"),
			listFlag(cmd, "status", "CREATED, RUNNING, SUCCESS or FAILURE; given several times: any of them"),
			listFlag(cmd, "behavior", "of this behavior; * stands for any text; given several times: any of them"),
			listFlag(cmd, "label", "NAME=VALUE; given several times: all of them"),
			stringFlag(cmd, "parent", "", "of this operation"),
			stringFlag(cmd, "due-before", "", "due at this time or earlier (RFC 3339)"),
		)...),
		Action: p.client(list),
	}
}

func list(c *cli.Context, cl *client) error {
	r := api.ListRequest{
		Namespace: cl.namespace, Statuses: uppers(c.StringSlice("status")), Behaviors: c.StringSlice("behavior"), Labels: c.StringSlice("label"),
		Parent: c.String("parent"), Limit: c.Int("limit"), Cursor: c.String("cursor"),
	}
	due, err := timeOf(c, "due-before")
	if err != nil {
		return err
	}
	if due != nil {
		r.DueBefore = &due.Time
	}
	reply, err := cl.Tasks(cl.ctx, r)
	if err != nil {
		return err
	}
	return cl.printPage(reply.Cursor, func(w *terminal.Table) { show.Tasks(w, reply.Tasks) })
}

// pageFlags are the flags of a list that comes in pages.
func pageFlags(cmd, what string) []cli.Flag {
	return []cli.Flag{
		intFlag(cmd, "limit", api.DefaultListLimit, what+" on a page"),
		stringFlag(cmd, "cursor", "", "where the page before ended"),
	}
}

// printPage is print for a list; it tells people that there is more.
func (c *client) printPage(cursor string, table func(*terminal.Table)) error {
	if err := c.print(table); err != nil {
		return err
	}
	if cursor != "" && !c.json {
		return c.stderr.Printf("there are more: --cursor %s\n", cursor)
	}
	return nil
}
