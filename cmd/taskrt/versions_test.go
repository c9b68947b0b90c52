package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/taskrt/taskrt/internal/built"
	"github.com/taskrt/taskrt/internal/leash"
)

// version010 is the commit that is version 0.1.0.
const version010 = "eb7019f017c43a359de6a820740d9b161f0b39c2"

// TestScriptsOfTheFormerVersion runs the scripts of the former version: what they type, and what they want to see, stays (docs/versions.md). They are
// run by the commands of this build, by its commands against servers of the former version, and by the former commands against servers of this
// build (SPEC C9).
func TestScriptsOfTheFormerVersion(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: builds the former version")
	}
	dir := t.TempDir()
	former := filepath.Join(dir, "taskrt")
	err := built.Commit(".", version010, former)
	if errors.Is(err, built.ErrNotInHistory) && os.Getenv("TASKRT_WHOLE_HISTORY") == "" {
		t.Skipf("NOT TESTED with a former build: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	files := formerScripts(t)
	for _, x := range []struct {
		name           string
		client, server string // "": this build
	}{
		{"this-build", "", ""},
		{"former-server", "", former},
		{"former-client", former, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			p := scriptParams(t, "")
			p.Files = files
			setup := p.Setup
			p.Setup = func(e *testscript.Env) error {
				e.Values[serverKey{}] = x.server
				if x.client != "" {
					e.Setenv("PATH", filepath.Dir(x.client)+string(os.PathListSeparator)+e.Getenv("PATH"))
				}
				return setup(e)
			}
			testscript.Run(t, p)
		})
	}
}

// formerScripts writes those scripts of the former version to a directory that start a server. The others show what the command line says to people
// who mistype, and what needs no server.
func formerScripts(t *testing.T) (files []string) {
	t.Helper()
	names, err := leash.Command("git", "ls-tree", "--name-only", version010, "testdata/script/").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name := range strings.Lines(string(names)) {
		name = strings.TrimSpace(name)
		text, err := leash.Command("git", "show", version010+":./"+name).Output()
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "\nstart TASKRT_SERVER ") {
			continue
		}
		file := filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	if len(files) < 10 {
		t.Fatalf("only %v start a server: the search is broken", files)
	}
	return files
}
