// Command make writes the corpus of a version: it builds the binary of a commit of this repository, lets servers of it live a life with all kinds
// of work, kills them, and packs their directories and what they exported (SPEC C9).
//
//	go run ./internal/corpus/make -version VERSION -commit COMMIT -out internal/corpus/testdata
//
// With -exe instead of -commit it does the same with a binary of this very tree: so tests try the step before a release needs it.
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/taskrt/taskrt/internal/built"
	"github.com/taskrt/taskrt/internal/corpus"
	"github.com/taskrt/taskrt/internal/leash"
)

// patience is how long all of it may take; a quiet machine needs two minutes.
const patience = 30 * time.Minute

// maxBytes is how much the corpus of a version may take in the repository.
const maxBytes = 1 << 20

func main() {
	version := flag.String("version", "", "the version, as its binary says it")
	commit := flag.String("commit", "", "full hash of the commit that the version is")
	exe := flag.String("exe", "", "binary of this tree, instead of -commit")
	out := flag.String("out", "", "directory in which the version has a directory; what is there is replaced")
	root := flag.String("root", ".", "directory of the repository")
	flag.Parse()
	runtime.LockOSThread() // the children die with the thread that started them
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := run(ctx, source{*version, *commit, *exe, *root}, *out); err != nil {
		fmt.Fprintln(os.Stderr, "corpus:", err)
		os.Exit(1)
	}
}

// maker makes the corpus of one version.
type maker struct {
	exe, wasm, dir string
	files          map[string][]byte
}

// source is where a version comes from.
type source struct{ version, commit, exe, root string }

// build writes the binary of the version, and says how many commands of the log it knows.
func (s *source) build(ctx context.Context, exe string) (commands int, err error) {
	var list []byte // of the commands
	if s.commit == "" {
		text, err := os.ReadFile(s.exe)
		if err != nil {
			return 0, err
		}
		if err := os.WriteFile(exe, text, 0o700); err != nil { //nolint:gosec // a program is executable
			return 0, err
		}
		if list, err = os.ReadFile(filepath.Join(s.root, "task", "command.go")); err != nil {
			return 0, err
		}
	} else {
		if err := built.Commit(s.root, s.commit, exe); err != nil {
			return 0, err
		}
		if list, err = leash.CommandContext(ctx, "git", "-C", s.root, "show", s.commit+":task/command.go").Output(); err != nil {
			return 0, fmt.Errorf("the commands of %s: %w", s.commit, err)
		}
	}
	said, err := leash.CommandContext(ctx, exe, "version").Output()
	if err != nil {
		return 0, fmt.Errorf("version: %w", err)
	}
	if words := strings.Fields(string(said)); len(words) < 2 || words[1] != s.version {
		return 0, fmt.Errorf("the binary of %s%s is not %s: it says %q", s.commit, s.exe, s.version, said)
	}
	return strings.Count(string(list), "\n\t_ Command = "), nil
}

func run(ctx context.Context, from source, out string) error {
	if from.version == "" || (from.commit == "") == (from.exe == "") || out == "" {
		return errors.New("-version, -out, and -commit or -exe are required")
	}
	root, err := filepath.Abs(from.root)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "taskrt-corpus-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	m := &maker{exe: filepath.Join(dir, "taskrt"), wasm: filepath.Join(root, "testdata", "wasm"), dir: dir, files: map[string][]byte{}}
	v := corpus.Version{Version: from.version, Commit: from.commit}
	if v.Commands, err = from.build(ctx, m.exe); err != nil {
		return err
	}
	highest, err := m.highestLevel(ctx)
	if err != nil {
		return fmt.Errorf("highest level: %w", err)
	}
	for _, d := range directories(highest) {
		fmt.Println(v.Version, d.Name)
		if err := m.live(ctx, &d); err != nil {
			return fmt.Errorf("%s: %w", d.Name, err)
		}
		v.Directories = append(v.Directories, d)
	}
	return m.write(v, filepath.Join(out, from.version))
}

// directories are the directories that a version leaves. A cluster is founded with its highest level, or held at the first, and may be recovered.
func directories(highest uint64) (all []corpus.Directory) {
	for _, level := range slices.Compact([]uint64{1, highest}) {
		for _, store := range []string{"bolt", "wal"} {
			all = append(all, corpus.Directory{Name: fmt.Sprintf("%s-level-%d", store, level), Store: store, Level: level})
		}
	}
	if d := all[len(all)-1]; d.Saved() { // it has the command that recovers
		d.Name, d.Recovered = d.Name+"-recovered", true
		all = append(all, d)
	}
	return all
}

// write replaces the directory out.
func (m *maker) write(v corpus.Version, out string) error {
	list, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	m.files[corpus.ListFile] = append(list, '\n')
	bytes := 0
	for _, text := range m.files {
		bytes += len(text)
	}
	if bytes > maxBytes {
		return fmt.Errorf("it has %d bytes, more than %d", bytes, maxBytes)
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil { //nolint:gosec // a directory of the repository
		return err
	}
	for name, text := range m.files {
		if err := os.WriteFile(filepath.Join(out, name), text, 0o644); err != nil { //nolint:gosec // likewise
			return err
		}
	}
	_, err = corpus.Read(os.DirFS(out))
	fmt.Println(bytes, "bytes")
	return err
}

// highestLevel is the highest feature level that the version knows. A cluster that it founds has this level.
func (m *maker) highestLevel(ctx context.Context) (uint64, error) {
	s, err := m.server(ctx, filepath.Join(m.dir, "first"), &corpus.Directory{Store: "bolt", Level: 2}, false)
	if err != nil {
		return 0, err
	}
	defer s.kill()
	var level uint64
	err = s.eventually(ctx, "it has the level that it knows", func() bool {
		st, err := s.status(ctx)
		level = st.Level.Level
		return err == nil && level > 0 && level == st.Level.Known
	})
	return level, err
}

// live lets a server live, and keeps what it leaves.
func (m *maker) live(ctx context.Context, d *corpus.Directory) error {
	s, err := m.server(ctx, filepath.Join(m.dir, d.Name), d, true)
	if err != nil {
		return err
	}
	defer func() { s.kill() }()
	if err := s.life(ctx, "first.sh"); err != nil {
		return err
	}
	if err := s.stop(ctx); err != nil {
		return err
	}
	if d.Recovered {
		if err := s.recover(ctx); err != nil {
			return err
		}
	}
	s.ttl = "10m" // no renewals while the digest is read, and the sessions are there when the next build starts
	if err := s.start(ctx); err != nil {
		return err
	}
	if err := s.life(ctx, "second.sh"); err != nil {
		return err
	}
	for _, namespace := range []string{"default", "shop", "copy"} {
		text, err := s.cli(ctx, "namespace", "export", namespace)
		if err != nil {
			return err
		}
		e := corpus.Export{Namespace: namespace}
		packed, err := compress([]byte(text))
		if err != nil {
			return err
		}
		e.SHA256 = corpus.Sum(packed)
		m.files[d.ExportFile(e)] = packed
		d.Exports = append(d.Exports, e)
	}
	if err := s.settle(ctx, d); err != nil {
		return err
	}
	s.kill()
	if err := errors.Join(lastEntry(s.dir, d), s.noteBackups(ctx, d)); err != nil {
		return err
	}
	packed, err := corpus.Pack(s.dir, leftOut)
	if err != nil {
		return err
	}
	d.Packed = corpus.Sum(packed)
	m.files[d.PackedFile()] = packed
	return nil
}

// leftOut are the files in a server's directory that are not packed: the life's own, native code, and what tells a copy of a worker's directory from
// the original. Nobody has a word for a worker's directory that was moved: its session would have to end first.
func leftOut(name string) bool {
	switch path.Base(name) {
	case "wasm-cache", "secret.of":
		return true
	}
	return name == "life" || name == "log"
}

func compress(text []byte) ([]byte, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = z.Write(text)
	err = errors.Join(err, z.Close())
	return out.Bytes(), err
}
