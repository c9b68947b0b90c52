package main

import (
	"cmp"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt"
	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/explain"
	"github.com/taskrt/taskrt/internal/terminal"
)

// commit is set by the linker where a binary is built without its repository: -ldflags "-X main.commit=…".
var commit string

// versionInfo is what `taskrt version` prints.
type versionInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
	ABI     []int  `json:"abi"` // major versions of the guest interface that this binary runs

	module string // the module's version if the go command has fetched it; else (devel), or a pseudo version
}

// buildVersion returns what this binary is, by the file VERSION and by what the go command wrote into it.
func buildVersion() versionInfo {
	v := versionInfo{Version: taskrt.Version, Commit: commit, Go: runtime.Version(), ABI: []int{abi.Version}}
	if info, ok := debug.ReadBuildInfo(); ok {
		v.module = info.Main.Version
		changes := ""
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				v.Commit = cmp.Or(commit, s.Value)
			case s.Key == "vcs.modified" && s.Value == "true" && commit == "":
				changes = "+changes"
			}
		}
		v.Commit += changes
	}
	v.Commit = cmp.Or(v.Commit, "unknown")
	return v
}

func explainCommand(p *program) *cli.Command {
	return explain.Command(func(c *cli.Context) (terminal.Answer, error) { return answer(p, c) }, outputFlag(), columnsFlag("explain"))
}

func (p *program) versionCommand() *cli.Command {
	return &cli.Command{
		Name: "version", Usage: "print version, commit, Go and ABI versions", Flags: []cli.Flag{outputFlag()},
		Action: func(c *cli.Context) error {
			to, err := answer(p, c)
			if err != nil {
				return err
			}
			v := buildVersion()
			return to.Show(v, func(w *terminal.Table) {
				w.Field("taskrt", v.Version)
				w.Field("commit", v.Commit)
				w.Field("go", v.Go)
				w.Field("abi", v.ABI)
			})
		},
	}
}
