package main

import (
	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api/auth"
	apiclient "github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/show"
	"github.com/taskrt/taskrt/internal/terminal"
)

func auditCommand(p *program) *cli.Command {
	const cmd = "audit"
	return &cli.Command{
		Name: cmd, Usage: "show who changed what with deploy, operate or admin, and which requests lacked a role", Category: "cluster",
		Description: "Records are shown in the order of the log, the oldest first. The token needs the role admin for everything.",
		Flags: reachFlags(append(pageFlags(cmd, "records"),
			intFlag(cmd, "after", 0, "NUMBER of a record: those behind it; default: from the oldest, with --follow from now"),
			stringFlag(cmd, "token", "", "of this token: its name, or token:N if it is gone"),
			stringFlag(cmd, "route", "", "by this route: a method and a path, or a path, as in /openapi.json"),
			stringFlag(cmd, "namespace", "", "in this namespace"),
			stringFlag(cmd, "refused", "", "true: only requests that lacked a role; false: only changes"),
			boolFlag(cmd, "follow", "print records as they come, until it is interrupted"),
		)...),
		Action: p.client(audit),
	}
}

func audit(c *cli.Context, cl *client) error {
	r := auth.AuditRequest{
		Limit: c.Int("limit"), Cursor: c.String("cursor"), After: uint64(c.Int("after")), HasAfter: c.IsSet("after"),
		Token: c.String("token"), Route: c.String("route"), Namespace: c.String("namespace"), Refused: c.String("refused"),
	}
	from := apiclient.NewAudit(cl.Client)
	if c.Bool("follow") {
		stream, err := from.FollowAudit(cl.ctx, r)
		if err != nil {
			return err
		}
		defer stream.Close()
		if cl.json {
			return show.Follow(cl.ctx, stream, cl.answers.Write)
		}
		return show.FollowAudit(cl.ctx, stream, cl.stdout.Printf)
	}
	reply, err := from.Audit(cl.ctx, r)
	if err != nil {
		return err
	}
	return cl.printPage(reply.Cursor, func(w *terminal.Table) { show.Audit(w, reply.Records) })
}
