// Command write writes the documentation into a directory, as files that any server serves, and that a browser opens without one (SPEC U4).
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/taskrt/taskrt/docs/site"
)

func main() {
	out := flag.String("out", "dist/docs", "the directory")
	version := flag.String("version", "", "the version of taskrt")
	flag.Parse()
	if err := write(*out, *version); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// write leaves nothing of a former site in the directory.
func write(out, version string) error {
	files, err := site.Render(site.Config{Version: version})
	if err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil { //nolint:gosec // a site, for everybody
		return err
	}
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(out, name), b, 0o644); err != nil { //nolint:gosec // a site, for everybody
			return err
		}
	}
	return nil
}
