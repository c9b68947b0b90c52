package main

import (
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/internal/terminal"
)

// version and commit are set by the linker of a release: -ldflags "-X main.version=v1.2.3 -X main.commit=…".
var version, commit string // the linker can set nothing else

// versionInfo is what `taskrt version` prints.
type versionInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
	ABI     []int  `json:"abi"` // major versions of the guest interface that this binary runs
}

// buildVersion asks the linker's variables, then what the go command wrote into the binary.
func buildVersion() versionInfo {
	v := versionInfo{Version: version, Commit: commit, Go: runtime.Version(), ABI: []int{abi.Version}}
	info, ok := debug.ReadBuildInfo()
	if ok && v.Version == "" {
		v.Version = info.Main.Version
	}
	if ok && v.Commit == "" {
		modified := ""
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				v.Commit = s.Value
			case "vcs.modified":
				if s.Value == "true" {
					modified = "+changes"
				}
			}
		}
		v.Commit += modified
	}
	if v.Version == "" {
		v.Version = "(devel)"
	}
	if v.Commit == "" {
		v.Commit = "unknown"
	}
	return v
}

func (p *program) versionCommand() *cli.Command {
	return &cli.Command{
		Name: "version", Usage: "print version, commit, Go and ABI versions", Flags: []cli.Flag{outputFlag()},
		Action: func(c *cli.Context) error {
			asJSON, err := wantsJSON(c)
			if err != nil {
				return err
			}
			v := buildVersion()
			if asJSON {
				return p.encodeJSON(v, "")
			}
			return p.stdout.Table(func(w *terminal.Table) {
				w.Field("taskrt", v.Version)
				w.Field("commit", v.Commit)
				w.Field("go", v.Go)
				w.Field("abi", v.ABI)
			})
		},
	}
}
