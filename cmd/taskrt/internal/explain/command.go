package explain

import (
	"fmt"
	"net/http"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/cmd/taskrt/internal/cmdline"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/show"
	"github.com/taskrt/taskrt/internal/terminal"
)

// Command shows what a code means, or all codes. answer is where it answers, and flags are the flags that say how.
func Command(answer func(*cli.Context) (terminal.Answer, error), flags ...cli.Flag) *cli.Command {
	return &cli.Command{
		Name: "explain", Usage: "say what a code of an error means and what to do: of a request, of a failed task, or an exit code; without CODE: list them", ArgsUsage: "[CODE]",
		Flags: flags,
		Action: func(c *cli.Context) error {
			to, err := answer(c)
			if err != nil {
				return err
			}
			code := c.Args().First()
			if code == "" {
				return to.Show(map[string]any{"codes": All()}, func(w *terminal.Table) { show.List(w, All(), true, columns) })
			}
			e, ok := Find(code)
			if !ok {
				return cmdline.Usagef(c, "there is no code %q%s; modules and external workers may give their tasks codes of their own", code, cmdline.Meant("", code, Codes("")))
			}
			return to.Show(e, func(w *terminal.Table) {
				w.Field("code", e.Code)
				w.Field("of a", of(e))
				w.Field("means", e.Means)
				w.Field("do", e.Do)
				w.Field("more", e.Type)
			})
		},
	}
}

var columns = []show.Column[Entry]{
	{Name: "CODE", Cell: func(e Entry) any { return e.Code }},
	{Name: "OF", Cell: func(e Entry) any { return of(e) }},
	{Name: "MEANS", Cell: func(e Entry) any { return e.Means }},
	{Name: "DO", Wide: true, Cell: func(e Entry) any { return e.Do }},
	{Name: "TYPE", Wide: true, Cell: func(e Entry) any { return e.Type }},
}

// of is what ends with a code, in words.
func of(e Entry) string {
	if e.Status > 0 {
		return fmt.Sprintf("%s, %d %s", e.Of, e.Status, http.StatusText(e.Status))
	}
	return string(e.Of)
}
