// Package complete says what may follow on a command line, also by names that the cluster knows, for shells that complete it (SPEC U3).
package complete

import (
	"context"
	"embed"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/cmd/taskrt/internal/cmdline"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/explain"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/scaffold"
	"github.com/taskrt/taskrt/internal/terminal"
)

//go:embed taskrt.bash taskrt.zsh taskrt.fish
var scripts embed.FS

// Command prints the scripts for shells.
func Command(out *terminal.Output) *cli.Command {
	c := &cli.Command{
		Name: "completion", Usage: "print the script by which a shell completes command lines, with the names of what is there",
		Description: "bash: source <(taskrt completion bash)     zsh: source <(taskrt completion zsh)     fish: taskrt completion fish | source\n" +
			"Packages install these scripts. Names are asked of the cluster that the command line would reach, for at most a second.",
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		c.Subcommands = append(c.Subcommands, &cli.Command{
			Name: shell, Usage: "for " + shell,
			Action: func(*cli.Context) error {
				text, err := scripts.ReadFile("taskrt." + shell)
				if err != nil {
					return err
				}
				return out.Content(strings.NewReader(string(text)))
			},
		})
	}
	return c
}

// patience is how long a shell waits for names.
const patience = time.Second

// asking are the first words by which a script asks. The name of the shell follows, and then the words of the line up to the one that is typed.
var asking = []string{"completion", "words"}

// Answer prints what may follow a command line, a word a line, if a script asks for it, and reports whether one does. It says nothing of what goes
// wrong, and waits for nobody for long.
func Answer(ctx context.Context, app *cli.App, args []string, server string, out *terminal.Output) (asked bool) {
	if len(args) < 5 || !slices.Equal(args[1:3], asking) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	found := make(chan []string, 1)
	go func() { found <- words(ctx, app, args[3], args[4:], server) }()
	select {
	case all := <-found:
		for _, word := range all {
			if out.Printf("%s\n", word) != nil {
				break // the shell is gone
			}
		}
	case <-ctx.Done(): // whatever holds it up, a file of a token, say
	}
	return true
}

// words are what may stand in the place of the last of typed.
func words(ctx context.Context, app *cli.App, shell string, typed []string, server string) (all []string) {
	cut := 0
	if shell == "bash" {
		typed, cut = joined(typed)
	}
	last := len(typed) - 1
	word, before := typed[last], ""
	at, ok := cmdline.Locate(app, typed[:last])
	if !ok {
		return nil
	}
	if name, value, has := strings.Cut(word, "="); has && at.Value == nil && len(at.Flags) > 0 && strings.HasPrefix(word, "-") {
		inside, ok := cmdline.Locate(app, append(slices.Clone(typed[:last]), name))
		if !ok || inside.Value == nil {
			return nil
		}
		at, word, before = inside, value, name+"="
	}
	for _, s := range following(ctx, app, &at, word, server) {
		if s = before + s; strings.HasPrefix(s, before+word) && len(s) > cut {
			all = append(all, s[cut:])
		}
	}
	return all
}

// following are the words for a place; some do not begin as the typed one.
func following(ctx context.Context, app *cli.App, at *cmdline.Place, word, server string) []string {
	switch {
	case at.Value != nil:
		if some, ok := values[at.Value.Names()[0]]; ok {
			return some
		}
		return live(ctx, app, at, ofFlag[at.Value.Names()[0]], word, server)
	case strings.HasPrefix(word, "-"):
		return flags(at)
	case len(at.Commands) > 0:
		return commands(at)
	}
	n := len(at.Arguments)
	switch cmdline.Argument(at.Command, n) {
	case "LANGUAGE":
		return strings.Split(scaffold.Languages(), ", ")
	case "CODE":
		return explain.Codes("")
	}
	return live(ctx, app, at, ofArgument(at, n), word, server)
}

func commands(at *cmdline.Place) (names []string) {
	for _, c := range at.Commands {
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	return names
}

// flags are the flags that may be given, without those that were given and may be given only once.
func flags(at *cmdline.Place) (names []string) {
	for _, f := range at.Flags {
		name := "--" + f.Names()[0]
		_, many := f.(*cli.StringSliceFlag)
		given := slices.ContainsFunc(at.Given, func(g string) bool { return strings.HasPrefix(g, name+"=") })
		if many || !given {
			names = append(names, name)
		}
	}
	return append(names, "--help")
}

// joined puts words together that bash has parted at = and :. cut is how much of the last one bash does not replace.
func joined(typed []string) (words []string, cut int) {
	const breaks = "=:"
	glue := false
	for _, w := range typed {
		isBreak := w != "" && strings.Trim(w, breaks) == ""
		if n := len(words); n > 0 && (glue || isBreak) {
			words[n-1] += w
		} else {
			words = append(words, w)
		}
		glue = isBreak
	}
	return words, strings.LastIndexAny(words[len(words)-1], breaks) + 1
}
