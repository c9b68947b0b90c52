package main

import (
	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/input"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/show"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/whole"
	"github.com/taskrt/taskrt/internal/terminal"
)

func (p *program) blobCommand() *cli.Command {
	const cmd = "blob"
	return &cli.Command{
		Name: cmd, Usage: "store and get files, for params and results as {\"$blob\": \"sha256:…\"}", Category: "tasks",
		Subcommands: []*cli.Command{
			{
				Name: "put", Usage: "store a file; prints its digest. What no task needs is deleted after the grace of maintenance", ArgsUsage: "FILE",
				Flags:  clientFlags(stringFlag(cmd, "digest", "", "refuse the file if it has another one")),
				Action: p.client(blobPut),
			},
			{
				Name: "get", Usage: "write a file to standard output", ArgsUsage: "DIGEST",
				Flags:  clientFlags(stringFlag(cmd, "to", "", "write to this FILE instead, once all of it has come and is right")),
				Action: p.client(blobGet),
			},
			{Name: "stat", Usage: "show a file's size, and how many records need it", ArgsUsage: "DIGEST", Flags: clientFlags(), Action: p.client(blobStat)},
		},
	}
}

func blobPut(c *cli.Context, cl *client) error {
	file, size, err := input.Open(c.Args().First(), cl.stdin, api.MaxBlob)
	if err != nil {
		return usagef(c, "%w", err)
	}
	defer file.Close()
	stop := show.Sending(cl.stderr, &cl.sent, input.Name(c.Args().First()), size)
	b, err := cl.PutBlob(cl.ctx, api.PutBlobRequest{Body: file, Size: size, Digest: c.String("digest")})
	stop()
	if err != nil {
		return err
	}
	return cl.print(func(w *terminal.Table) { w.Row(b.Digest) })
}

func blobGet(c *cli.Context, cl *client) error {
	if cl.json {
		return usagef(c, "a file is no JSON; blob stat -o json describes it")
	}
	content, err := cl.BlobContent(cl.ctx, api.BlobRange{Digest: c.Args().First(), Length: -1})
	if err != nil {
		return err
	}
	defer content.Body.Close()
	to := c.String("to")
	if to == "" {
		return cl.stdout.Content(content.Body)
	}
	return whole.Write(to, content.Body)
}

func blobStat(c *cli.Context, cl *client) error {
	b, err := cl.Blob(cl.ctx, c.Args().First())
	if err != nil {
		return err
	}
	return cl.print(func(w *terminal.Table) {
		w.Field("digest", b.Digest)
		w.Field("bytes", b.Size)
		w.Field("needed by", b.Refs)
	})
}
