package durable

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/internal/leash"
)

const childDir = "DURABLE_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := MkdirAll(dir); err != nil {
			panic(err)
		}
		if err := WriteFile(filepath.Join(dir, "file"), []byte("text")); err != nil {
			panic(err)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestSyncs: whatever is made is synced, and then the directory that has its name.
func TestSyncs(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	for _, c := range []struct {
		name  string
		ready string // is there already
		want  []string
	}{
		{name: "nothing is there", want: []string{
			"mkdir a", "mkdir a/b", "mkdir a/b/c", "sync a/b", "sync a", "sync .", "sync ..",
			"open a/b/c/file.tmp", "sync a/b/c/file.tmp", "rename a/b/c/file", "sync a/b/c",
		}},
		{name: "a directory of a process that was killed", ready: "a/b/c", want: []string{
			"sync a/b", "open a/b/c/file.tmp", "sync a/b/c/file.tmp", "rename a/b/c/file", "sync a/b/c",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			if err := os.MkdirAll(filepath.Join(root, c.ready), 0o700); err != nil {
				t.Fatal(err)
			}
			if got := trace(t, root, "a/b/c"); strings.Join(got, ", ") != strings.Join(c.want, ", ") {
				t.Errorf("%q, want %q", got, c.want)
			}
			if text, err := os.ReadFile(filepath.Join(root, "a/b/c/file")); string(text) != "text" {
				t.Errorf("%q, %v", text, err)
			}
		})
	}
}

// trace is what a child does with files below root.
func trace(t *testing.T, root, dir string) (did []string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "trace")
	cmd := leash.CommandContext(t.Context(), "strace", "-f", "-qq", "-y", "-e", "signal=none", "-e", "trace=?mkdir,mkdirat,openat,fsync,?rename,?renameat,renameat2", "-o", file, os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+filepath.Join(root, dir))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("SKIPPED, NOT SHOWN: strace cannot trace processes here: %v\n%s", err, out)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		_, line, _ = strings.Cut(strings.TrimSpace(line), " ")
		what, _, _ := strings.Cut(strings.TrimSpace(line), "(")
		at := strings.LastIndex(line, root)
		if strings.HasSuffix(line, "= -1 ENOENT (No such file or directory)") || at < 0 && !strings.Contains(line, filepath.Dir(root)+">") {
			continue
		}
		path := ".."
		if at >= 0 {
			path = strings.TrimPrefix(line[at+len(root):], "/")
			path = path[:strings.IndexAny(path, "\">")]
			if path == "" {
				path = "."
			}
		}
		switch {
		case strings.HasPrefix(what, "mkdir"):
			did = append(did, "mkdir "+path)
		case what == "fsync":
			did = append(did, "sync "+path)
		case strings.HasPrefix(what, "rename"):
			did = append(did, "rename "+path)
		case strings.Contains(line, "O_CREAT"):
			did = append(did, "open "+path)
		}
	}
	return did
}

// TestErrors: what was there stays, and nothing else does.
func TestErrors(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := WriteFile(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	if err := MkdirAll(path); err == nil {
		t.Error("a file passes for a directory")
	}
	if err := MkdirAll(filepath.Join(path, "below")); err == nil {
		t.Error("a directory was made in a file")
	}
	if err := WriteFile(filepath.Join(dir, "none", "file"), nil); err == nil {
		t.Error("a file was made in no directory")
	}
	if err := os.Mkdir(path+".tmp", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, []byte("new")); err == nil {
		t.Error("no error")
	}
	if text, err := os.ReadFile(path); string(text) != "old" {
		t.Errorf("%q, %v", text, err)
	}
}
