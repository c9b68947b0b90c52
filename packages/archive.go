package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// packed is one file of an archive.
type packed struct {
	name string // in the archive
	from string // on the disk
	mode int64
}

// archives makes a .tar.gz for each target.
func (r *release) archives() error {
	for _, t := range r.built(targets) {
		files := []packed{{"taskrt", r.program(t), 0o755}}
		for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
			files = append(files, packed{name, filepath.Join(r.root, name), 0o644})
		}
		for _, name := range []string{"docs/install.md", "docs/run-a-cluster.md"} {
			files = append(files, packed{name, filepath.Join(r.root, name), 0o644})
		}
		files = append(files, packed{"man/taskrt.1", r.work("taskrt.1"), 0o644})
		for _, script := range [][2]string{{"taskrt.bash", "taskrt.bash"}, {"_taskrt", "taskrt.zsh"}, {"taskrt.fish", "taskrt.fish"}} {
			files = append(files, packed{"completions/" + script[0], filepath.Join(r.root, "cmd", "taskrt", "internal", "complete", script[1]), 0o644})
		}
		top := fmt.Sprintf("taskrt_%s_%s", r.version, t)
		if err := writeArchive(filepath.Join(r.out, top+".tar.gz"), top, files, r.time); err != nil {
			return err
		}
	}
	return nil
}

// writeArchive writes files below a directory of their own. Owners, times and order do not depend on the machine.
func writeArchive(name, top string, files []packed, at time.Time) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(z)
	dirs := map[string]bool{}
	for _, p := range files {
		if err := addDirs(w, dirs, top+"/"+p.name, at); err != nil {
			return err
		}
		if err := addFile(w, top+"/"+p.name, p, at); err != nil {
			return err
		}
	}
	return errors.Join(w.Close(), z.Close())
}

// addDirs adds the directories of a name that are not there yet.
func addDirs(w *tar.Writer, have map[string]bool, name string, at time.Time) error {
	for i, c := range name {
		if c != '/' || have[name[:i]] {
			continue
		}
		have[name[:i]] = true
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name[:i] + "/", Mode: 0o755, ModTime: at, Format: tar.FormatUSTAR}); err != nil {
			return err
		}
	}
	return nil
}

func addFile(w *tar.Writer, name string, p packed, at time.Time) error {
	f, err := os.Open(p.from)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	h := &tar.Header{Typeflag: tar.TypeReg, Name: strings.TrimPrefix(name, "/"), Mode: p.mode, Size: info.Size(), ModTime: at, Format: tar.FormatUSTAR}
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return err
}
