// Package corpus holds what released versions wrote: directories of servers and exports of namespaces. The tests of every later version read them
// (SPEC C9).
package corpus

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

//go:embed testdata
var files embed.FS

// ListFile is the name of the file that lists what a version wrote.
const ListFile = "corpus.json"

// Version is what one version wrote.
type Version struct {
	Version     string      `json:"version"`  // as `taskrt version` says it
	Commit      string      `json:"commit"`   // whose binary wrote it
	Commands    int         `json:"commands"` // how many commands of the log it knows: their numbers begin with 1
	Directories []Directory `json:"directories"`
}

// Level is the highest feature level that the version knew.
func (v *Version) Level() (highest uint64) {
	for _, d := range v.Directories {
		highest = max(highest, d.Level)
	}
	return highest
}

// Directory is all that a server had on its disk when it was killed, but for the native code of its guests. It had stopped in order once
// before. So it has a log from its first entry on, and a snapshot of a part of it.
type Directory struct {
	Name    string   `json:"name"`    // of the files
	Store   string   `json:"store"`   // format of the log: bolt or wal
	Level   uint64   `json:"level"`   // feature level
	Cluster string   `json:"cluster"` // ID of the cluster
	Index   uint64   `json:"index"`   // of the last entry of the log
	Digest  string   `json:"digest"`  // of the state after this entry, as the version itself reported it: 16 hex digits
	Packed  string   `json:"packed"`  // SHA-256 of the packed directory
	Exports []Export `json:"exports"` // of this state
	Backups []Backup `json:"backups,omitempty"`
	// Recovered says that a new cluster was founded of the directory when the server had stopped. So its log begins behind its snapshot.
	Recovered bool `json:"recovered,omitempty"`
	version   string
	contents  fs.FS // nil: the files that are embedded
}

// Export is what `taskrt namespace export` wrote.
type Export struct {
	Namespace string `json:"namespace"`
	SHA256    string `json:"sha256"` // of the packed file
}

// Backup is a backup of the directory's cluster. It is in the packed directory.
type Backup struct {
	Place  string `json:"place"`            // a file, or a target: what --backup-to named
	Target bool   `json:"target,omitempty"` // the newest backup in it is meant
	Sealed bool   `json:"sealed,omitempty"` // it is encrypted to IdentityFile
	Index  uint64 `json:"index"`            // of the log
	Digest string `json:"digest"`           // of the state after this entry, as the version itself reported it: 16 hex digits
}

// PackedFile is the name of a packed directory.
func (d *Directory) PackedFile() string { return d.Name + ".tar.gz" }

// ExportFile is the name of a packed export of the directory.
func (d *Directory) ExportFile(e Export) string { return d.Name + "-" + e.Namespace + ".jsonl.gz" }

// Secured reports whether the server had a cluster secret. Below level 2 there are no tokens, and the servers of the corpus were open.
func (d *Directory) Secured() bool { return d.Level >= 2 }

// Saved reports whether the cluster was backed up: backups began with level 3.
func (d *Directory) Saved() bool { return d.Level >= 3 }

// The names in an unpacked directory.
const (
	DataDir      = "data" // what --dir named
	RaftDir      = DataDir + "/raft"
	SecretFile   = "cluster.secret" // of a server that is Secured
	TokensDir    = "tokens"         // NAME.token, likewise
	BackupsDir   = "backups"        // of a server that is Saved
	IdentityFile = "identity"       // that decrypts what is Sealed
)

// Versions reads what all versions wrote, in the order of their names.
func Versions() ([]Version, error) {
	entries, err := fs.ReadDir(files, "testdata")
	if err != nil {
		return nil, err
	}
	var all []Version
	for _, e := range entries {
		sub, err := fs.Sub(files, path.Join("testdata", e.Name()))
		if err != nil {
			return nil, err
		}
		v, err := Read(sub)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name(), err)
		}
		all = append(all, v)
	}
	return all, nil
}

// Read reads the list of a version, and checks that all files are there that it names, unchanged, and no others.
func Read(contents fs.FS) (v Version, err error) {
	text, err := fs.ReadFile(contents, ListFile)
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(text, &v); err != nil {
		return v, fmt.Errorf("%s: %w", ListFile, err)
	}
	named := map[string]string{}
	for i := range v.Directories {
		d := &v.Directories[i]
		d.version, d.contents = v.Version, contents
		named[d.PackedFile()] = d.Packed
		for _, e := range d.Exports {
			named[d.ExportFile(e)] = e.SHA256
		}
	}
	entries, err := fs.ReadDir(contents, ".")
	if err != nil {
		return v, err
	}
	for _, e := range entries {
		if e.Name() == ListFile {
			continue
		}
		text, err := fs.ReadFile(contents, e.Name())
		if err != nil {
			return v, err
		}
		if want, ok := named[e.Name()]; !ok {
			return v, fmt.Errorf("%s does not name %s", ListFile, e.Name())
		} else if got := Sum(text); got != want {
			return v, fmt.Errorf("%s has the digest %s, and %s says %s", e.Name(), got, ListFile, want)
		}
		delete(named, e.Name())
	}
	for name := range named {
		return v, fmt.Errorf("%s is missing", name)
	}
	return v, nil
}

// Sum is the SHA-256 of a file, as a list has it.
func Sum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// String names a directory in tests.
func (d *Directory) String() string { return d.version + "/" + d.Name }

// Export returns the text of an export.
func (d *Directory) Export(e Export) ([]byte, error) {
	packed, err := fs.ReadFile(d.contents, d.ExportFile(e))
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// Unpack writes the directory below the directory to, which exists.
func (d *Directory) Unpack(to string) error {
	packed, err := fs.ReadFile(d.contents, d.PackedFile())
	if err != nil {
		return err
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer root.Close()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", d.PackedFile(), err)
		}
		if err := unpack(root, h, r); err != nil {
			return fmt.Errorf("%s: %s: %w", d.PackedFile(), h.Name, err)
		}
	}
}

func unpack(root *os.Root, h *tar.Header, r io.Reader) error {
	name, mode := filepath.FromSlash(h.Name), fs.FileMode(h.Mode).Perm() //nolint:gosec // of a file of this repository
	if h.Typeflag == tar.TypeDir {
		return root.MkdirAll(name, mode)
	}
	if h.Typeflag != tar.TypeReg {
		return errors.New("it is neither a file nor a directory")
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := fill(f, r); err != nil {
		return err
	}
	return f.Truncate(h.Size) // what ends with zeros takes no room
}

// fill writes what r has, and leaves holes where there are only zeros: files of a log are made long before they are full.
func fill(f *os.File, r io.Reader) error {
	zeros, piece := make([]byte, 64<<10), make([]byte, 64<<10)
	for at := int64(0); ; {
		n, err := io.ReadFull(r, piece)
		if !bytes.Equal(piece[:n], zeros[:n]) {
			if _, err := f.WriteAt(piece[:n], at); err != nil {
				return err
			}
		}
		at += int64(n)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// Pack returns a directory as Unpack reads it. The names that skip reports are left out, with all that is below them. Equal directories
// give equal bytes.
func Pack(dir string, skip func(name string) bool) ([]byte, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(z)
	err = filepath.WalkDir(dir, func(file string, e fs.DirEntry, err error) error {
		if err != nil || file == dir {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		if name = filepath.ToSlash(name); skip(name) {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		return pack(w, file, name, e)
	})
	if err = errors.Join(err, w.Close(), z.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func pack(w *tar.Writer, file, name string, e fs.DirEntry) error {
	info, err := e.Info()
	if err != nil {
		return err
	}
	h := &tar.Header{Name: name, Mode: int64(info.Mode().Perm()), Typeflag: tar.TypeDir, Format: tar.FormatPAX}
	if e.IsDir() {
		return w.WriteHeader(h)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is neither a file nor a directory", name)
	}
	h.Typeflag, h.Size = tar.TypeReg, info.Size()
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}
