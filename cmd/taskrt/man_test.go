//go:build !urfave_cli_no_docs

package main

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/internal/terminal"
)

var manFile = flag.String("man", "", "file to write the manual page into")

// TestManual writes the manual page of the program by its own description: `make dist` runs it, without the tag that leaves out of the
// binary what writes such pages. It fails if the page lacks a command, a flag or the exit codes.
func TestManual(t *testing.T) {
	p := &program{stdout: terminal.New(&bytes.Buffer{}), stderr: terminal.New(&bytes.Buffer{})}
	app := p.app()
	page, err := app.ToManWithSection(1)
	if err != nil {
		t.Fatal(err)
	}
	plain := strings.NewReplacer(`\-`, "-", `\&`, "", `\fB`, "", `\fP`, "", `\fR`, "").Replace(page)
	want := []string{"Exit codes:", "0 done", "70 a guest"}
	var each func(commands []*cli.Command)
	each = func(commands []*cli.Command) {
		for _, c := range commands {
			want = append(want, c.Name+"\n", c.Usage)
			for _, f := range c.Flags {
				want = append(want, "--"+f.Names()[0])
			}
			each(c.Subcommands)
		}
	}
	each(app.Commands)
	if len(want) < 200 {
		t.Fatalf("only %d things to look for: the search is broken", len(want))
	}
	for _, text := range want {
		if !strings.Contains(strings.ReplaceAll(plain, "\\", ""), strings.ReplaceAll(text, "\\", "")) {
			t.Errorf("the page has no %q", text)
		}
	}
	if *manFile != "" && !t.Failed() {
		if err := os.WriteFile(*manFile, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
