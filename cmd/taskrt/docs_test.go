package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/internal/leash"
)

// TestDocs runs every command line of the documentation verbatim. The ```sh blocks of one page, in order, are one
// script: bash -e in a copy of what the repository holds, taskrt on the PATH, TASKRT_SERVER naming a fresh `taskrt dev`
// cluster. A block that needs another terminal or machine is marked ```sh no-test, and the page says why. A page that starts three nodes has them at
// the ports 7081 to 7083 and 7181 to 7183, in place of which a test takes ports that nobody uses.
func TestDocs(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts clusters")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages = append(pages, filepath.Join(root, "README.md"))
	blocks := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		script, n, err := shellBlocks(string(text))
		if err != nil {
			t.Errorf("%s: %v", page, err)
		}
		blocks += n
		if n == 0 {
			continue
		}
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel() // they wait, mostly
			runPage(t, root, script)
		})
	}
	if blocks == 0 {
		t.Error("no page has a command line: is the marker of the blocks still ```sh ?")
	}
}

// shellBlocks returns the ```sh blocks of a page as one script, and how many there are.
func shellBlocks(page string) (script string, blocks int, err error) {
	var b strings.Builder
	in, skip := false, false
	for i, line := range strings.Split(page, "\n") {
		info, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && in:
			in = false
		case fence && skip:
			skip = false
		case fence && info == "sh":
			in = true
			blocks++
			fmt.Fprintf(&b, ": line %d\n", i+1)
		case fence && (strings.HasPrefix(info, "sh ") && info != "sh no-test"):
			return "", 0, fmt.Errorf("line %d: unknown marker %q", i+1, line)
		case fence && (info == "bash" || info == "shell" || info == "console"):
			return "", 0, fmt.Errorf("line %d: %q is not run by any test; write ```sh", i+1, line)
		case fence:
			skip = true
		case in:
			b.WriteString(line + "\n")
		}
	}
	if in || skip {
		return "", 0, fmt.Errorf("a block is not closed")
	}
	return b.String(), blocks, nil
}

// runPage runs a script against a cluster of its own.
func runPage(t *testing.T, root, script string) {
	d := startDev(t)
	dir := copyTree(t, root)
	script = withFreePorts(t, script)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute) // who hangs is shown, and not waited for
	defer cancel()
	beside, err := leash.New() // what a page starts beside itself ends with it, also when it fails
	if err != nil {
		t.Fatal(err)
	}
	defer beside.Kill()
	cmd := exec.CommandContext(ctx, "bash", "-exo", "pipefail", "-c", script)
	beside.Tie(cmd)
	cmd.WaitDelay = 10 * time.Second
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TASKRT_SERVER="+d.url, "TMPDIR="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir(), "GOFLAGS="+wherever(t))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	before := filesIn(t, dir)
	err = cmd.Run()
	beside.Kill()
	if err != nil {
		t.Errorf("%v; the script said:\n%s", err, out.String())
	}
	if left := notIgnored(t, root, slices.DeleteFunc(filesIn(t, dir), func(f string) bool { return slices.Contains(before, f) })); len(left) > 0 {
		t.Errorf("whoever tries the page finds these in the clone, and git too: %q; tmp/ is for them", left)
	}
}

// wherever are the flags with which Go compiles the packages of a copy once, and not again for every directory that has a copy.
func wherever(t *testing.T) string {
	t.Helper()
	flags, err := leash.Command("go", "env", "GOFLAGS").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(strings.TrimSpace(string(flags)) + " -trimpath")
}

// withFreePorts lets the nodes of a page listen where nobody else does: outside of the range of ports for outgoing connections.
func withFreePorts(t *testing.T, script string) string {
	t.Helper()
	const http, raft = "127.0.0.1:708", "127.0.0.1:718"
	if !strings.Contains(script, http) {
		return script
	}
	for range 100 {
		begin := 2100 + rand.IntN(1000)
		if free(begin) && free(begin+1) {
			return strings.NewReplacer(http, fmt.Sprintf("127.0.0.1:%d", begin), raft, fmt.Sprintf("127.0.0.1:%d", begin+1)).Replace(script)
		}
	}
	t.Fatal("no free ports on loopback")
	return ""
}

// free reports whether the ports that begin so and end with 1, 2 and 3 are free.
func free(begin int) bool {
	for i := range 3 {
		ln, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d%d", begin, i+1))
		if err != nil {
			return false
		}
		ln.Close()
	}
	return true
}

// filesIn lists the files below dir.
func filesIn(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		files = append(files, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// notIgnored returns the files that git would show as new.
func notIgnored(t *testing.T, root string, files []string) (left []string) {
	t.Helper()
	cmd := leash.Command("git", "check-ignore", "--no-index", "-z", "--stdin", "--verbose", "--non-matching")
	cmd.Dir, cmd.Stdin = root, strings.NewReader(strings.Join(files, "\x00"))
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() != 1) { // 1: none is ignored
		t.Fatalf("git check-ignore: %v", err)
	}
	fields := strings.Split(string(out), "\x00") // source, line, pattern, file
	for i := 0; i+3 < len(fields); i += 4 {
		if fields[i] == "" {
			left = append(left, fields[i+3])
		}
	}
	return left
}

// copyTree gives a page a repository to which it may write: the files that git knows and the new ones, no others.
func copyTree(t *testing.T, root string) string {
	t.Helper()
	dir := t.TempDir()
	cmd := leash.Command("bash", "-eo", "pipefail", "-c",
		`git ls-files -z --cached --others --exclude-standard | while IFS= read -rd "" f; do if [ -e "$f" ]; then printf "%s\0" "$f"; fi; done | tar -c --null -T - | tar -x -C "$1"`, "copy", dir)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("copy the repository: %v\n%s", err, out)
	}
	return dir
}

func TestShellBlocks(t *testing.T) {
	for _, c := range []struct {
		name, page, script string
		blocks             int
		bad                bool
	}{
		{"none", "text\n```go\nx\n```\n", "", 0, false},
		{"two", "```sh\na\nb\n```\ntext\n```sh\nc\n```", ": line 1\na\nb\n: line 6\nc\n", 2, false},
		{"not tested", "```sh no-test\na\n```\n```\nb\n```\n", "", 0, false},
		{"unknown marker", "```sh notest\na\n```\n", "", 0, true},
		{"other shell", "```bash\na\n```\n", "", 0, true},
		{"open", "```sh\na\n", "", 0, true},
	} {
		script, blocks, err := shellBlocks(c.page)
		if script != c.script || blocks != c.blocks || (err != nil) != c.bad {
			t.Errorf("%s: %q, %d, %v", c.name, script, blocks, err)
		}
	}
}
