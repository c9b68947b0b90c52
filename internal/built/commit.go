package built

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// ErrNotInHistory means that a clone does not hold the commit: it is shallow.
var ErrNotInHistory = errors.New("built: the clone does not hold the commit")

// Commit writes the binary of another commit of this repository to the file exe. A test runs it beside the binary of this commit, or
// before it on the same directory. Commit is the full hash, root a directory of the clone.
func Commit(root, commit, exe string) error { return Program(root, commit, "./cmd/taskrt", exe) }

// Program is Commit for any program of the repository: pkg is its directory, which begins with a dot.
func Program(root, commit, pkg, exe string) error {
	if err := exec.Command("git", "-C", root, "cat-file", "-e", commit+"^{commit}").Run(); err != nil {
		return fmt.Errorf("%w: %s", ErrNotInHistory, commit)
	}
	recipe := Recipe{Tool: "go build", Command: []string{commit, pkg, runtime.Version(), runtime.GOARCH}}
	program, err := recipe.Once(func() ([]byte, error) { return buildCommit(root, commit, pkg) })
	if err != nil {
		return err
	}
	return os.WriteFile(exe, program, 0o700) //nolint:gosec // a program is executable
}

func buildCommit(root, commit, pkg string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "taskrt-commit-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	archive := filepath.Join(dir, "tree.tar")
	top := exec.Command("git", "rev-parse", "--show-toplevel")
	top.Dir = root
	tree, err := top.Output()
	if err != nil {
		return nil, fmt.Errorf("built: %s is in no clone: %w", root, err)
	}
	exe := filepath.Join(dir, "taskrt")
	for _, step := range []struct {
		dir  string
		args []string
	}{
		{string(tree[:len(tree)-1]), []string{"git", "archive", "--format=tar", "--output", archive, commit}},
		{dir, []string{"tar", "-xf", archive}},
		{dir, []string{"go", "build", "-tags", "urfave_cli_no_docs", "-trimpath", "-buildvcs=false", "-o", exe, pkg}},
	} {
		cmd := exec.Command(step.args[0], step.args[1:]...) //nolint:gosec // the steps stand above
		cmd.Dir = step.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("built: %v: %w\n%s", step.args, err, out)
		}
	}
	return os.ReadFile(exe)
}
