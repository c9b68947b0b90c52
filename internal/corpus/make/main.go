// Command make writes the corpus of a version: it builds the binary of a commit of this repository, lets servers of it live a life with all kinds
// of work, kills them, and packs their directories and what they exported (SPEC C9).
//
//	go run ./internal/corpus/make -version VERSION -commit COMMIT -out internal/corpus/testdata
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
	out := flag.String("out", "", "directory in which the version has a directory; what is there is replaced")
	wasm := flag.String("wasm", "testdata/wasm", "directory of the guests")
	flag.Parse()
	runtime.LockOSThread() // the children die with the thread that started them
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := run(ctx, *version, *commit, *out, *wasm); err != nil {
		fmt.Fprintln(os.Stderr, "corpus:", err)
		os.Exit(1)
	}
}

// maker makes the corpus of one version.
type maker struct {
	exe, wasm, dir string
	files          map[string][]byte
}

func run(ctx context.Context, version, commit, out, wasm string) error {
	if version == "" || commit == "" || out == "" {
		return errors.New("-version, -commit and -out are required")
	}
	wasm, err := filepath.Abs(wasm)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "taskrt-corpus-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	m := &maker{exe: filepath.Join(dir, "taskrt"), wasm: wasm, dir: dir, files: map[string][]byte{}}
	if err := built.Commit(".", commit, m.exe); err != nil {
		return err
	}
	said, err := leash.CommandContext(ctx, m.exe, "version").Output()
	if err != nil {
		return fmt.Errorf("version: %w", err)
	}
	if words := strings.Fields(string(said)); len(words) < 2 || words[1] != version {
		return fmt.Errorf("the binary of %s is not %s: it says %q", commit, version, said)
	}
	v := corpus.Version{Version: version, Commit: commit}
	source, err := leash.CommandContext(ctx, "git", "show", commit+":task/command.go").Output()
	if err != nil {
		return fmt.Errorf("the commands of %s: %w", commit, err)
	}
	v.Commands = strings.Count(string(source), "\n\t_ Command = ")
	highest, err := m.highestLevel(ctx)
	if err != nil {
		return fmt.Errorf("highest level: %w", err)
	}
	for _, level := range slices.Compact([]uint64{1, highest}) { // a cluster is founded with the highest, or held at the first
		for _, store := range []string{"bolt", "wal"} {
			d := corpus.Directory{Name: fmt.Sprintf("%s-level-%d", store, level), Store: store, Level: level}
			fmt.Println(v.Version, d.Name)
			if err := m.live(ctx, &d); err != nil {
				return fmt.Errorf("%s: %w", d.Name, err)
			}
			v.Directories = append(v.Directories, d)
		}
	}
	return m.write(v, filepath.Join(out, version))
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

// highestLevel is the highest feature level that the version knows: that of a cluster that it founds.
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
	packed, err := corpus.Pack(s.dir, func(name string) bool {
		return name == "life" || name == "log" || strings.HasPrefix(name, corpus.DataDir+"/") && strings.HasSuffix(name, "wasm-cache")
	})
	if err != nil {
		return err
	}
	d.Packed = corpus.Sum(packed)
	m.files[d.PackedFile()] = packed
	return lastEntry(s.dir, d)
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
