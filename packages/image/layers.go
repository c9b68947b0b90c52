package image

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// file is one entry of a layer. A name that ends with a slash is a directory.
type file struct {
	name  string
	mode  int64
	owner int // and group
	data  []byte
}

// base is the layer below the program.
func (s Source) base() (v1.Layer, error) {
	roots, err := authorities()
	if err != nil {
		return nil, err
	}
	// A volume that is made for Data gets the owner and the rights that Data has here.
	return s.layer([]file{
		{name: "data/", mode: 0o750, owner: User},
		{name: "etc/", mode: 0o755},
		{name: "etc/group", mode: 0o644, data: fmt.Appendf(nil, "root:x:0:\ntaskrt:x:%d:\n", User)},
		{name: "etc/hosts", mode: 0o644, data: []byte("127.0.0.1 localhost\n::1 localhost\n")}, // most supervisors put their own there
		{name: "etc/passwd", mode: 0o644, data: fmt.Appendf(nil, "root:x:0:0:root:/:/none\ntaskrt:x:%d:%d:taskrt:/tmp:/none\n", User, User)},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, data: roots},
		{name: "tmp/", mode: 0o1777},
	})
}

// program is the layer with the program.
func (s Source) program(name string) (v1.Layer, error) {
	binary, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	license, err := os.ReadFile(s.License)
	if err != nil {
		return nil, err
	}
	return s.layer([]file{
		{name: "usr/", mode: 0o755},
		{name: "usr/bin/", mode: 0o755},
		{name: "usr/bin/taskrt", mode: 0o755, data: binary},
		{name: "usr/share/", mode: 0o755},
		{name: "usr/share/doc/", mode: 0o755},
		{name: "usr/share/doc/taskrt/", mode: 0o755},
		{name: "usr/share/doc/taskrt/LICENSE", mode: 0o644, data: license},
	})
}

// authorities are Mozilla's, as the Go project keeps them in a module. Authorities that Mozilla trusts only for a part of their certificates are left
// out: a file of certificates has no place for conditions.
func authorities() ([]byte, error) {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		c, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "# %s\n", c.Subject)
		if err := pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	if b.Len() == 0 {
		return nil, errors.New("there are no authorities")
	}
	return b.Bytes(), nil
}

// layer is a compressed archive of files, in the given order.
func (s Source) layer(files []file) (v1.Layer, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		h := &tar.Header{
			Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Uid: f.owner, Gid: f.owner, Size: int64(len(f.data)), ModTime: s.Time, Format: tar.FormatUSTAR,
		}
		if f.name[len(f.name)-1] == '/' {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
}

// archive packs a layout into one file, in the order of names.
func archive(name, dir string, at time.Time) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := tar.NewWriter(f)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: rel + "/", Mode: 0o755, ModTime: at, Format: tar.FormatUSTAR})
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: rel, Mode: 0o644, Size: int64(len(data)), ModTime: at, Format: tar.FormatUSTAR}); err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	})
	return errors.Join(err, w.Close())
}
