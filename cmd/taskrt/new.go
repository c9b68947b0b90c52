package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/cmd/taskrt/internal/scaffold"
	"github.com/taskrt/taskrt/internal/terminal"
)

func (p *program) newCommand() *cli.Command {
	const cmd = "new"
	return &cli.Command{
		Name: cmd, Usage: "make a directory with a new plugin that builds, and tests that pass", ArgsUsage: "LANGUAGE NAME", Category: "behaviors",
		Description: "LANGUAGE is one of: " + scaffold.Languages() + ". NAME becomes the name of the behavior.",
		Flags: []cli.Flag{
			stringFlag(cmd, "dir", "", "DIRECTORY to make; default NAME in the working directory"),
			stringFlag(cmd, "sdk", "", "go: DIRECTORY of a clone of "+scaffold.SDKModule+" whose SDK the plugin uses; default the one that\n"+
				"the working directory or this binary lies in, else the release that this binary is of"),
		},
		Action: p.newPlugin,
	}
}

func (p *program) newPlugin(c *cli.Context) error {
	data := scaffold.Plugin{Name: c.Args().Get(1)}
	lang, ok := scaffold.LanguageOf(c.Args().Get(0))
	if !ok {
		return usagef(c, "there is no template for %q; there are: %s", c.Args().Get(0), scaffold.Languages())
	}
	if !scaffold.NameOK(data.Name) {
		return usagef(c, "NAME must be 3 to 64 of a-z0-9._-, with a letter or digit at both ends, not %q", data.Name)
	}
	if lang.FetchesSDK() {
		var err error
		if data.SDK, data.Version, err = scaffold.FindSDK(c.String("sdk"), buildVersion().module); err != nil {
			return usagef(c, "%w", err)
		}
	}
	dir := c.String("dir")
	if dir == "" {
		dir = data.Name
	}
	if err := scaffold.EmptyDir(dir); err != nil {
		return usagef(c, "%w", err)
	}
	if err := lang.Write(dir, data); err != nil {
		return err
	}
	fetch := ""
	if lang.FetchesSDK() && data.SDK == "" {
		fetch = fmt.Sprintf("  go mod tidy    # once: fetches the SDK %s\n", data.Version)
	}
	return p.stdout.Printf("%s is ready. README.md says what is where; next:\n\n  cd %s\n%s  make test\n  make           # %s.wasm\n",
		dir, dir, terminal.Lines(fetch), data.Name)
}
