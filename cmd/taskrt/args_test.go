package main

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/cmd/taskrt/internal/cmdline"
	"github.com/taskrt/taskrt/internal/terminal"
)

func testApp() *cli.App {
	return (&program{stdout: terminal.New(io.Discard), stderr: terminal.New(io.Discard)}).app()
}

// eachCommand calls f with all commands and the commands below them.
func eachCommand(commands []*cli.Command, f func(*cli.Command)) {
	for _, c := range commands {
		f(c)
		eachCommand(c.Subcommands, f)
	}
}

func TestArrange(t *testing.T) {
	for _, c := range []struct {
		line string
		want string // "": refused
	}{
		{"get abc", "taskrt get -- abc"},
		{"get abc -o json", "taskrt get --output=json -- abc"},
		{"get -o json abc", "taskrt get --output=json -- abc"},
		{"-o json get abc", "taskrt get --output=json -- abc"},
		{"get abc --output=json --server=x", "taskrt get --output=json --server=x -- abc"},
		{"get -server x abc", "taskrt get --server=x -- abc"},
		{"--log-level debug get abc --log-format json", "taskrt --log-level=debug --log-format=json get -- abc"},
		{"submit b --params - --wait", "taskrt submit --params=- --wait=true -- b"},
		{"submit --wait b --params -", "taskrt submit --wait=true --params=- -- b"},
		{"submit --wait=false b", "taskrt submit --wait=false -- b"},
		{"submit b --params -5", "taskrt submit --params=-5 -- b"},
		{"submit b --params --wait", "taskrt submit --params=--wait -- b"},
		{"submit b --label a=1 --label b=2=3", "taskrt submit --label=a=1 --label=b=2=3 -- b"},
		{"list --label a=1 --status SUCCESS --label b=2 --status FAILURE", "taskrt list --label=a=1 --status=SUCCESS --label=b=2 --status=FAILURE --"},
		{"get abc --server a --server b", ""},
		{"get --server a abc --server a", ""},
		{"get abc -o json --output table", ""},
		{"--log-level info get abc --log-level debug", ""},
		{"submit b --wait --wait=false", ""},
		{"watch --status SUCCESS --status FAILURE", ""},
		{"--version", "taskrt version --"},
		{"--version -o json", "taskrt version --output=json --"},
		{"--version active retry one", "taskrt retry --version=active -- one"},
		{"retry one --version active", "taskrt retry --version=active -- one"},
		{"--version get", ""},
		{"push - --name x", "taskrt push --name=x -- -"},
		{"get -- --abc", "taskrt get -- --abc"},
		{"get -- -o", "taskrt get -- -o"},
		{"behavior -o json show abc", "taskrt behavior show --output=json -- abc"},
		{"behavior show abc --help", "taskrt behavior show --help"},
		{"help", "taskrt --help"},
		{"help behavior", "taskrt behavior --help"},
		{"help behavior show", "taskrt behavior show --help"},
		{"get help", "taskrt get -- help"},
		{"-h", "taskrt --help"},
		{"", ""},
		{"behavior", ""},
		{"nosuch", ""},
		{"behavior nosuch", ""},
		{"wait a b --any c", "taskrt wait --any=true -- a b c"},
		{"wait", ""},
		{"behavior rm abc --purge", "taskrt behavior rm --purge=true -- abc"},
		{"behavior --purge rm abc", "taskrt behavior rm --purge=true -- abc"},
		{"behavior activate abc", ""},
		{"behavior activate abc 1 2", ""},
		{"get", ""},
		{"get a b", ""},
		{"get a --nosuch", ""},
		{"get a ---server x", ""},
		{"get a --server", ""},
		{"get a --wait", ""},
		{"--wait get a", ""},
		{"list a", ""},
		{"list -- a", ""},
		{"list --watch", "taskrt list --watch=true --"},
		{"dev --watch DIR", "taskrt dev --watch=DIR --"},
		{"--watch list", ""},
		{"--watch=DIR dev", ""},
		{"get -ojson a", ""},
		{"cluster status extra", ""},
	} {
		got, err := cmdline.Arrange(testApp(), append([]string{"taskrt"}, strings.Fields(c.line)...))
		if (err != nil) != (c.want == "") || err == nil && strings.Join(got, " ") != c.want {
			t.Errorf("%q: %q, %v; want %q", c.line, got, err, c.want)
		}
	}
}

// TestFlagsTakeValuesEverywhereOrNowhere: cmdline.Arrange relies on it, because it must read a flag that stands before its
// command without knowing the command.
func TestFlagsTakeValuesEverywhereOrNowhere(t *testing.T) {
	takes := map[string]bool{}
	variables := map[string]string{}
	app := testApp()
	check := func(where string, flags []cli.Flag) {
		for _, f := range flags {
			doc := f.(cli.DocGenerationFlag)
			for _, name := range f.Names() {
				if had, known := takes[name]; known && had != doc.TakesValue() && name != "watch" { // taken only behind its command
					t.Errorf("%s: --%s takes a value here and none elsewhere, or the other way round", where, name)
				}
				takes[name] = doc.TakesValue()
			}
			if len(doc.GetEnvVars()) != 1 {
				t.Errorf("%s: --%s has variables %q, want one", where, f.Names()[0], doc.GetEnvVars())
				continue
			}
			v := doc.GetEnvVars()[0]
			if other, known := variables[v]; known && other != f.Names()[0] {
				t.Errorf("%s is the variable of --%s and --%s", v, other, f.Names()[0])
			}
			variables[v] = f.Names()[0]
		}
	}
	check("taskrt", app.Flags)
	eachCommand(app.Commands, func(c *cli.Command) {
		check(c.Name, c.Flags)
		if c.Usage == "" || c.UsageText == "" || len(c.Subcommands) == 0 && c.Action == nil {
			t.Errorf("%s: no usage or no action", c.Name)
		}
	})
}

// TestCommands: every command that an issue has named so far exists.
func TestCommands(t *testing.T) {
	var names []string
	eachCommand(testApp().Commands, func(c *cli.Command) { names = append(names, c.Name) })
	for _, want := range strings.Fields("dev server worker new run push behavior list show submit get list wait watch cancel retry resubmit rm logs cluster status version put stats activate pause resume drain undrain workers") {
		if !slices.Contains(names, want) {
			t.Errorf("no command %s in %q", want, names)
		}
	}
}
