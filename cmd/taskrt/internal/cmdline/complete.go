package cmdline

import "github.com/urfave/cli/v2"

// completionWord is the last word of a command line that a shell wants to complete. It is urfave/cli's.
const completionWord = "--generate-bash-completion"

// Complete prints what may follow a command line, if a shell asks for it, and reports whether one does. No command is carried out, whatever
// the line says: after "--", urfave/cli takes the word that asks for an argument.
func Complete(app *cli.App, args []string) (asked bool) {
	if args[len(args)-1] != completionWord {
		return false
	}
	eachCommand(app.Commands, func(c *cli.Command) {
		c.Action = func(*cli.Context) error { return nil }
		c.OnUsageError = nil
	})
	app.EnableBashCompletion, app.OnUsageError = true, nil
	_ = app.Run(args) // a line that is not finished need not make sense
	return true
}
