package main

import (
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/contexts"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/exit"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/keys"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/reach"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/show"
	"github.com/taskrt/taskrt/internal/terminal"
)

func contextCommand(p *program) *cli.Command {
	const cmd = "context"
	// of makes the action of a command that works on the user's file.
	of := func(do func(*program, *cli.Context, *contexts.Store) error) cli.ActionFunc {
		return func(c *cli.Context) error {
			store, err := contexts.OfUser()
			if err == nil {
				err = do(p, c, store)
			}
			if wrong, ok := errors.AsType[*contexts.UsageError](err); ok {
				return usagef(c, "%w", wrong.Err)
			}
			return err
		}
	}
	// change makes the action of a command that only changes the file.
	change := func(do func(f *contexts.File, name string) error) cli.ActionFunc {
		return of(func(_ *program, c *cli.Context, store *contexts.Store) error {
			return fileError(store.Update(c.Context, func(f *contexts.File) error { return do(f, c.Args().First()) }))
		})
	}
	return &cli.Command{
		Name: cmd, Usage: "keep by name how clusters are reached: servers, whom to trust, a token, a namespace", Category: "cluster",
		Description: "Contexts are one file of yours, which only you may read: contexts.json in the directory taskrt of your configurations.\n" +
			"A flag wins over its variable, and both over the context. Whoever names a --server has no context.",
		Subcommands: []*cli.Command{
			{
				Name: "add", Usage: "keep a context; the first one becomes the current one", ArgsUsage: "NAME",
				Flags: []cli.Flag{
					serverFlag(), keys.CAFlag(trustFlag), keys.TokenFlag(trustFlag),
					stringFlag("", "namespace", "", "scope of tasks and behaviors of whoever names none"),
					boolFlag(cmd, "offline", "ask no server which cluster it is of, and whether the token holds"),
					boolFlag(cmd, "replace", "let it take the place of a context of the same name"),
					outputFlag(),
				},
				Action: of(contextAdd),
			},
			{Name: "list", Usage: "list the contexts; * marks the current one", Flags: []cli.Flag{outputFlag(), columnsFlag(cmd)}, Action: of(contextList)},
			{Name: "show", Usage: "show a context, or the current one, but for its token", ArgsUsage: "[NAME]", Flags: []cli.Flag{outputFlag()}, Action: of(contextShow)},
			{Name: "use", Usage: "make a context the current one", ArgsUsage: "NAME", Action: change((*contexts.File).Use)},
			{Name: "rm", Usage: "forget a context; its token still holds", ArgsUsage: "NAME", Action: change((*contexts.File).Remove)},
		},
	}
}

// fileError gives an error about the file of contexts its exit code.
func fileError(err error) error {
	if _, usage := errors.AsType[*contexts.UsageError](err); usage || err == nil {
		return err
	}
	return exit.With(exit.File, err)
}

func contextAdd(p *program, c *cli.Context, store *contexts.Store) error {
	name := c.Args().First()
	if err := contexts.CheckName(name); err != nil {
		return err
	}
	kept := &contexts.Context{Servers: splitList(c.String("server")), Namespace: c.String("namespace")}
	if !c.IsSet("server") || len(kept.Servers) == 0 {
		return usagef(c, "--server is required")
	}
	var err error
	if kept.CA, err = keys.ReadCA(c); err != nil {
		return keyError(c, err)
	}
	token, err := keys.Token(c)
	if err != nil {
		return keyError(c, err)
	}
	if token != nil {
		if kept.Token, err = token(); err != nil {
			return err
		}
	}
	if err := kept.Check(); err != nil {
		return err
	}
	add := func(f *contexts.File) error { return f.Add(name, kept, c.Bool("replace")) }
	f, err := store.Read()
	if err != nil {
		return fileError(err)
	}
	if err := add(f); err != nil { // before anybody is asked
		return err
	}
	if err := reach.Meet(c.Context, kept, c.Bool("offline")); api.CodeOf(err) != "" {
		return err
	} else if err != nil {
		return keyError(c, err)
	}
	if err := store.Update(c.Context, add); err != nil {
		return fileError(err)
	}
	return printContext(p, c, store, name)
}

// viewOf is a context without its token.
func viewOf(f *contexts.File, name string) show.ContextView {
	c := f.Contexts[name]
	return show.ContextView{
		Name: name, Current: name == f.Current, Servers: c.Servers, CA: c.CA, HasToken: c.Token != "", Namespace: c.Namespace, Cluster: c.Cluster,
	}
}

func contextList(p *program, c *cli.Context, store *contexts.Store) error {
	to, err := answer(p, c)
	if err != nil {
		return err
	}
	f, err := store.Read()
	if err != nil {
		return fileError(err)
	}
	all := []show.ContextView{}
	for _, name := range f.Names() {
		all = append(all, viewOf(f, name))
	}
	return to.Show(map[string]any{"contexts": all}, func(w *terminal.Table) { show.Contexts(w, all) })
}

func contextShow(p *program, c *cli.Context, store *contexts.Store) error {
	return printContext(p, c, store, c.Args().First())
}

// printContext shows a context; "": the current one.
func printContext(p *program, c *cli.Context, store *contexts.Store, name string) error {
	to, err := answer(p, c)
	if err != nil {
		return err
	}
	f, err := store.Read()
	if err != nil {
		return fileError(err)
	}
	if name == "" {
		name = f.Current
	}
	if name == "" {
		return usagef(c, "no context is the current one: taskrt context use NAME")
	}
	if _, err := f.Find(name); err != nil {
		return err
	}
	view := viewOf(f, name)
	return to.Show(view, func(w *terminal.Table) { show.Context(w, &view) })
}
