package cmdline

import (
	"strings"

	"github.com/urfave/cli/v2"
)

// Place is where a word is being typed that a shell completes.
type Place struct {
	Path      []string       // names of the commands that were typed
	Commands  []*cli.Command // one of which must follow; none: arguments follow
	Command   *cli.Command   // the last one that was typed; nil: none
	Flags     []cli.Flag     // that may be given; none behind --
	Value     cli.Flag       // whose value is being typed; nil: it is no value
	Given     []string       // flags that were typed, each as one word
	Arguments []string       // that were typed
}

// Locate finds the place behind words. A line that is not finished need not make sense: what is unknown is passed over, but for a command.
func Locate(app *cli.App, words []string) (at Place, ok bool) {
	l := line{app: app, commands: app.Commands}
	ended := false
	for i := 0; i < len(words); i++ {
		switch a := words[i]; {
		case !ended && a == "--":
			ended = true
		case !ended && len(a) > 1 && a[0] == '-':
			used, err := l.flag(a, words[i+1:])
			if err != nil && i == len(words)-1 {
				at.Value = l.valued(a)
			}
			i += used
		default:
			if l.word(a) != nil {
				return at, false
			}
		}
	}
	at.Path, at.Commands, at.Command, at.Arguments = l.path, l.commands, l.command, l.arguments
	at.Given = l.flagsOf(app.Flags)
	if !ended {
		at.Flags = app.Flags
	}
	if l.command != nil && len(l.commands) == 0 {
		at.Given = append(at.Given, l.flagsOf(l.command.Flags)...)
		if !ended {
			at.Flags = append(at.Flags[:len(at.Flags):len(at.Flags)], l.command.Flags...)
		}
	}
	return at, true
}

// valued is the flag that a word names, if a value must follow.
func (l *line) valued(word string) cli.Flag {
	name := word[1:]
	if name[0] == '-' {
		name = name[1:]
	}
	if f := l.lookup(name); f != nil && takesValue(f) {
		return f
	}
	return nil
}

// Argument is the word by which ArgsUsage names the n-th argument of a command; "": there is none.
func Argument(c *cli.Command, n int) string {
	names := strings.Fields(c.ArgsUsage)
	if last := len(names) - 1; n > last && last >= 0 && strings.Contains(names[last], "…") {
		n = last
	}
	if n >= len(names) {
		return ""
	}
	return strings.Trim(names[n], "[]…")
}
