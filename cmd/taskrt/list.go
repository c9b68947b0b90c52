package main

import (
	"errors"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/filters"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/follow"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/show"
	"github.com/taskrt/taskrt/internal/terminal"
)

func (p *program) listCommand() *cli.Command {
	const cmd = "list"
	own := append(pageFlags(cmd, "tasks"),
		boolFlag(cmd, "all", "all pages, not one; with -o json each page is a line, with -o yaml a document"),
		boolFlag(cmd, "watch", "go on: on a terminal show the page again and again, elsewhere print each task that is new or has changed"),
		stringFlag(cmd, "order", "", "desc: the last ones first, as on a terminal; asc: the first ones, as otherwise. By start or by end if --started-… or --finished-… is the only range, else by creation"))
	return &cli.Command{
		Name: cmd, Usage: "list tasks that are as the flags say", Category: "tasks",
		Flags:  clientFlags(append(own, filters.Flags(filters.Kit{String: stringFlag, List: listFlag}, cmd)...)...),
		Action: p.client(list),
	}
}

func list(c *cli.Context, cl *client) error {
	r, err := filters.Read(c, cl.namespace, time.Now())
	if err != nil {
		return err
	}
	order := strings.ToLower(c.String("order"))
	if order != "" && order != "asc" && order != "desc" {
		return usagef(c, "--order is asc or desc")
	}
	watch := c.Bool("watch")
	if watch && (c.Bool("all") || c.IsSet("cursor")) {
		return usagef(c, "--watch is about the first page")
	}
	people := order == "" && (cl.stdout.IsTerminal() || watch) // programs see what they saw before there was an order
	r.Desc, r.Limit, r.Cursor = order == "desc" || people, c.Int("limit"), c.String("cursor")
	if c.Bool("all") && !c.IsSet("limit") {
		r.Limit = api.MaxListLimit
	}
	read := func() (*api.ListReply, error) {
		reply, err := cl.Tasks(cl.ctx, r)
		if e, ok := errors.AsType[*api.Error](err); ok && people && e.Field == "order" { // of a server of version 0.1.0
			r.Desc = false
			reply, err = cl.Tasks(cl.ctx, r)
		}
		return reply, err
	}
	if watch {
		return (&follow.List{Read: read, Answer: cl.meta.Body, Out: cl.stdout, Columns: cl.columns, Write: cl.toProgram()}).Watch(cl.ctx)
	}
	for head := true; ; head = false {
		reply, err := read()
		if err != nil {
			return err
		}
		page := func(w *terminal.Table) { show.Tasks(w, reply.Tasks, head) }
		if !c.Bool("all") {
			return cl.printPage(reply.Cursor, page)
		}
		if err := cl.print(page); err != nil || reply.Cursor == "" {
			return err
		}
		r.Cursor = reply.Cursor
	}
}

// pageFlags are the flags of a list that comes in pages.
func pageFlags(cmd, what string) []cli.Flag {
	return []cli.Flag{
		intFlag(cmd, "limit", api.DefaultListLimit, what+" on a page"),
		stringFlag(cmd, "cursor", "", "where the page before ended"),
		columnsFlag(cmd),
	}
}

// printPage is print for a list. It tells people, and programs that see no cursor, that there is more.
func (c *client) printPage(cursor string, table func(*terminal.Table)) error {
	if err := c.print(table); err != nil {
		return err
	}
	if cursor != "" && !c.form.ShowsCursor() {
		return c.stderr.Printf("there are more: --cursor %s\n", cursor)
	}
	return nil
}
