package arch_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/internal/leash"
)

// TestSubjects: .ci/subjects finds subjects that are too long or name no package, from the commit on at which it is told to
// begin; it says yes in a shallow clone, in a repository without that commit and where there is no git.
func TestSubjects(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"git", "bash"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s here", tool)
		}
	}
	script := filepath.Join(root(t), ".ci", "subjects")
	alone := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b"}
	run := func(dir string, args ...string) (string, error) {
		cmd := leash.Command(args[0], args[1:]...)
		cmd.Dir, cmd.Env = dir, append(alone, "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
		out, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	must := func(dir string, args ...string) string {
		t.Helper()
		out, err := run(dir, args...)
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return out
	}
	repo := t.TempDir()
	must(repo, "git", "init", "-q")
	commit := func(subject string) string {
		must(repo, "git", "commit", "-q", "--allow-empty", "--allow-empty-message", "-m", subject)
		return must(repo, "git", "rev-parse", "HEAD")
	}
	began := commit("Whatever was before the rule")
	for subject, good := range map[string]bool{
		"task: do x": true,
		"api/internal/codec, docs: read what was written": true,
		".ci/run: " + strings.Repeat("é", 63):             true, // 72 characters
		".ci/run: " + strings.Repeat("é", 64):             false,
		"do x":                                            false,
		"task do x: y":                                    false,
		"task: do x.":                                     false,
		"task:do x":                                       false,
		"Merge the whole  ":                               false,
	} {
		before := must(repo, "git", "rev-parse", "HEAD")
		commit(subject)
		if out, err := run(repo, script, before); (err == nil) != good {
			t.Errorf("%q: %v, want good: %v\n%s", subject, err, good, out)
		}
	}
	if out, err := run(repo, script, began); err == nil || strings.Count(out, "\n") != 5 {
		t.Errorf("all: %v, want six complaints\n%s", err, out)
	}
	if out, err := run(repo, script, "0123456"); err != nil || !strings.Contains(out, "no commit") {
		t.Errorf("no such commit: %v %s", err, out)
	}
	if out, err := run(t.TempDir(), script); err != nil || !strings.Contains(out, "no git") {
		t.Errorf("no git: %v %s", err, out)
	}

	for subject, good := range map[string]bool{"task: be the last": true, "no package": false} {
		commit(subject)
		shallow := filepath.Join(t.TempDir(), "clone")
		must(repo, "git", "clone", "-q", "--depth", "1", "file://"+repo, shallow)
		if out, err := run(shallow, script, began); (err == nil) != good {
			t.Errorf("a shallow clone of %q: %v, want good: %v\n%s", subject, err, good, out)
		}
	}
}
