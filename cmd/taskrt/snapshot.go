package main

import (
	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/cmd/taskrt/internal/snapshots"
	"github.com/taskrt/taskrt/internal/terminal"
)

// snapshotCommand is about backups of the whole cluster (SPEC C8).
func snapshotCommand(p *program) *cli.Command {
	return snapshots.Command(snapshots.Kit{
		Stdin: p.stdin, Answer: func(c *cli.Context) (terminal.Answer, error) { return answer(p, c) },
		String: stringFlag, Bool: boolFlag, Int: intFlag, List: listFlag, ClientFlags: clientFlags, OutputFlag: outputFlag, ColumnsFlag: columnsFlag,
		LogStoreFlag: logStoreFlag, LogStore: readLogStore,
		Online: func(do snapshots.Online) cli.ActionFunc {
			return p.client(func(c *cli.Context, cl *client) error { return do(c, cl.ctx, cl.Client) })
		},
	})
}
