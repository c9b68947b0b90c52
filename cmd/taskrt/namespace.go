package main

import (
	"os"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/exit"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/input"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/show"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/whole"
	"github.com/taskrt/taskrt/internal/terminal"
)

func (p *program) namespaceCommand() *cli.Command {
	const cmd = "namespace"
	settings := func() []cli.Flag {
		return []cli.Flag{
			intFlag(cmd, "max-tasks", 0, "task records that it may hold, final ones included; 0: no limit"),
			intFlag(cmd, "max-bytes", 0, "bytes that its payloads may take, those of blobs included; 0: no limit"),
			intFlag(cmd, "submits-per-second", 0, "tasks that may be submitted per second; 0: no limit"),
			stringFlag(cmd, "keep-success", "", "how long tasks are kept that succeeded: a duration like 72h, or never to delete them"),
			stringFlag(cmd, "keep-failure", "", "how long tasks are kept that failed: a duration like 336h, or never to delete them"),
			intFlag(cmd, "weight", 0, "its part of the workers' slots while others wait for some, 1 to 100; 0: 10"),
			intFlag(cmd, "max-running", 0, "tasks of it that run at once; 0: no limit"),
			intFlag(cmd, "keep-count", 0, "final tasks that are kept at most; 0: a million"),
		}
	}
	return &cli.Command{
		Name: cmd, Aliases: []string{"ns"}, Usage: "create, show, change, purge, export and import namespaces", Category: "cluster",
		Subcommands: []*cli.Command{
			{Name: "create", Usage: "create a namespace", ArgsUsage: "NAME", Flags: clientFlags(append(settings(), keyFlag())...), Action: p.client(namespaceCreate)},
			{Name: "list", Usage: "list the namespaces with what they hold", Flags: clientFlags(columnsFlag(cmd)), Action: p.client(namespaceList)},
			{Name: "show", Usage: "show a namespace, its quotas and what it holds", ArgsUsage: "NAME", Flags: clientFlags(), Action: p.client(namespaceShow)},
			{Name: "set", Usage: "change quotas, its share of slots or retention; what is not given stays", ArgsUsage: "NAME", Flags: clientFlags(settings()...), Action: p.client(namespaceSet)},
			{Name: "activate", Usage: "let tasks be submitted and started again", ArgsUsage: "NAME", Flags: clientFlags(), Action: p.client(namespaceStatus(api.NamespaceActive))},
			{Name: "deactivate", Usage: "take no new tasks and start none; those that run go on", ArgsUsage: "NAME", Flags: clientFlags(), Action: p.client(namespaceStatus(api.NamespaceInactive))},
			{
				Name: "purge", Usage: "cancel what runs in a namespace and remove all that it holds; there is no way back", ArgsUsage: "NAME",
				Flags: clientFlags(boolFlag(cmd, "yes", "do not ask for the name")), Action: p.client(namespacePurge),
			},
			{
				Name: "export", Usage: "write all that is live in a namespace as JSON lines", ArgsUsage: "NAME",
				Flags: clientFlags(
					boolFlag(cmd, "raw", "every stored record as it is, without the bytes of blobs: to look at, not to import"),
					stringFlag(cmd, "file", "", "write to this file, which is there only when it is whole; default: standard output"),
				),
				Action: p.client(namespaceExport),
			},
			{
				Name: "import", Usage: "take up an export; what is there already is left alone: it may be done again", ArgsUsage: "NAME FILE",
				Flags: clientFlags(
					boolFlag(cmd, "rehash", "give tasks whose IDs follow from their params those that they have in this namespace"),
				),
				Action: p.client(namespaceImport),
			},
		},
	}
}

// namespaceSettings reads the given flags into settings; changed says whether any flag was given.
func namespaceSettings(c *cli.Context, s *api.NamespaceSettings) (changed bool, err error) {
	for _, f := range []struct {
		name string
		to   *int64
	}{
		{"max-tasks", &s.Quota.MaxTasks},
		{"max-bytes", &s.Quota.MaxBytes},
		{"submits-per-second", &s.Quota.SubmitsPerSecond},
		{"keep-count", &s.Retention.Count},
		{"weight", &s.Share.Weight},
		{"max-running", &s.Share.MaxRunning},
	} {
		if c.IsSet(f.name) {
			*f.to, changed = int64(c.Int(f.name)), true
		}
	}
	for _, f := range []struct {
		name string
		to   *api.Keep
	}{{"keep-success", &s.Retention.Success}, {"keep-failure", &s.Retention.Failure}} {
		if !c.IsSet(f.name) {
			continue
		}
		if err := f.to.UnmarshalJSON([]byte(strconv.Quote(c.String(f.name)))); err != nil {
			return false, usagef(c, "--%s: %w", f.name, err)
		}
		changed = true
	}
	return changed, nil
}

func namespaceCreate(c *cli.Context, cl *client) error {
	s := api.NamespaceSettings{Name: c.Args().First(), Quota: &api.Quota{}, Retention: &api.NamespaceRetention{}, Share: &api.Share{}}
	if _, err := namespaceSettings(c, &s); err != nil {
		return err
	}
	n, err := cl.CreateNamespace(cl.once(c), s)
	return cl.printNamespace(n, err)
}

func namespaceShow(c *cli.Context, cl *client) error {
	n, err := cl.Namespace(cl.ctx, c.Args().First())
	return cl.printNamespace(n, err)
}

// namespaceSet changes those settings that are given.
func namespaceSet(c *cli.Context, cl *client) error {
	n, err := cl.Namespace(cl.ctx, c.Args().First())
	if err != nil {
		return err
	}
	s := api.NamespaceSettings{Name: n.Name, Quota: &n.Quota, Retention: &n.Retention, Share: &n.Share}
	changed, err := namespaceSettings(c, &s)
	if err != nil {
		return err
	}
	if !changed {
		return usagef(c, "nothing to set: give a quota, a share or a retention")
	}
	n, err = cl.UpdateNamespace(cl.ctx, s)
	return cl.printNamespace(n, err)
}

func namespaceStatus(status string) func(*cli.Context, *client) error {
	return func(c *cli.Context, cl *client) error {
		n, err := cl.SetNamespaceStatus(cl.ctx, c.Args().First(), status)
		return cl.printNamespace(n, err)
	}
}

// namespacePurge asks people at a terminal for the name once more, and everybody else for --yes.
func namespacePurge(c *cli.Context, cl *client) error {
	name := c.Args().First()
	if !c.Bool("yes") {
		if !terminal.IsTerminal(cl.stdin) {
			return usagef(c, "all of %s would be removed: say --yes if that is meant", name)
		}
		answer, err := input.Answer(cl.stdin, cl.stderr, "All tasks, behaviors and records of %s will be removed. There is no way back.\nType its name to purge it: ", name)
		if err != nil {
			return err
		}
		if answer != name {
			return usagef(c, "that is not its name: nothing was done")
		}
	}
	return namespaceStatus(api.NamespacePurging)(c, cl)
}

func (c *client) printNamespace(n *api.Namespace, err error) error {
	if err != nil {
		return err
	}
	return c.print(func(w *terminal.Table) { show.Namespace(w, n) })
}

func namespaceList(_ *cli.Context, cl *client) error {
	all, err := cl.Namespaces(cl.ctx)
	if err != nil {
		return err
	}
	return cl.print(func(w *terminal.Table) { show.Namespaces(w, all) })
}

func namespaceExport(c *cli.Context, cl *client) error {
	lines, err := cl.ExportNamespace(cl.ctx, api.ExportRequest{Name: c.Args().First(), Raw: c.Bool("raw")})
	if err != nil {
		return err
	}
	defer lines.Close()
	file := c.String("file")
	if file == "" {
		return cl.stdout.Content(lines)
	}
	return whole.Write(file, lines)
}

func namespaceImport(c *cli.Context, cl *client) error {
	r, size := api.ImportRequest{Name: c.Args().First(), Body: cl.stdin, Rehash: c.Bool("rehash")}, int64(0)
	if file := c.Args().Get(1); file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return usagef(c, "%w", err)
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			size = info.Size()
		}
		r.Body = f
	}
	stop := show.Sending(cl.stderr, &cl.sent, input.Name(c.Args().Get(1)), size)
	n, err := cl.ImportNamespace(cl.ctx, r)
	stop()
	if err != nil {
		return err
	}
	err = cl.print(func(w *terminal.Table) { show.Imported(w, n) })
	if err != nil || n.Refused == 0 {
		return err
	}
	return exit.With(exit.Refused, show.Refusals(n))
}
