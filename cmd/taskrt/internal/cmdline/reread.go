package cmdline

import (
	"errors"

	"github.com/urfave/cli/v2"
)

// errReread ends the reading of a command line that was only to be read.
var errReread = errors.New("read")

// Reread reads the command line of a process again, with the variables and the file of --config as they are now. read is given it in place of the
// action of the command, which is not carried out.
func Reread(app *cli.App, args []string, command string, read func(*cli.Context) error) error {
	ordered, err := Arrange(app, args)
	if err != nil {
		return err
	}
	app.Command(command).Action = func(c *cli.Context) error {
		if err := read(c); err != nil {
			return err
		}
		return errReread
	}
	if err := app.Run(ordered); !errors.Is(err, errReread) {
		return err
	}
	return nil
}
