package containers

import (
	"archive/tar"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

var (
	imageFile = flag.String("image", "", "FILE that make image has made; without it nothing is run")
	tool      = flag.String("runtime", "runc", "program that runs containers as the OCI specifies: runc or crun")
)

// image is the image for this machine, unpacked.
type image struct {
	root   string // directory; it is never written to
	config v1.Config
}

// openImage unpacks the layers of the image, as whatever runs containers does.
func openImage(t *testing.T) *image {
	t.Helper()
	switch _, err := exec.LookPath(*tool); {
	case *imageFile == "":
		t.Skip("NOTHING IS RUN: there is no -image (make image-check says one)")
	case os.Geteuid() != 0:
		t.Skip("NOTHING IS RUN: only root can give the image's files to their owners")
	case err != nil:
		t.Skipf("NOTHING IS RUN: %v: install %s", err, *tool)
	}
	dir := passable(t)
	f, err := os.Open(*imageFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	untar(t, f, filepath.Join(dir, "layout"))
	img, err := forThisMachine(filepath.Join(dir, "layout"))
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	flat := mutate.Extract(img)
	defer flat.Close()
	untar(t, flat, filepath.Join(dir, "root"))
	return &image{root: filepath.Join(dir, "root"), config: config.Config}
}

// forThisMachine is the image for this machine's processor in a layout.
func forThisMachine(dir string) (v1.Image, error) {
	top, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, err
	}
	m, err := top.IndexManifest()
	if err != nil {
		return nil, err
	}
	index, err := top.ImageIndex(m.Manifests[0].Digest)
	if err != nil {
		return nil, err
	}
	if m, err = index.IndexManifest(); err != nil {
		return nil, err
	}
	for _, d := range m.Manifests {
		if d.Platform.Architecture == runtime.GOARCH {
			return index.Image(d.Digest)
		}
	}
	return nil, errors.New("the image has nothing for " + runtime.GOARCH)
}

// passable is a temporary directory that users other than root can pass through.
func passable(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for up := dir; up != os.TempDir() && up != "/"; up = filepath.Dir(up) {
		if err := os.Chmod(up, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// untar unpacks an archive with owners and rights.
func untar(t *testing.T, from io.Reader, dir string) {
	t.Helper()
	for r := tar.NewReader(from); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err == nil {
			err = entry(filepath.Join(dir, filepath.FromSlash(h.Name)), h, r)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func entry(to string, h *tar.Header, content io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if h.Typeflag == tar.TypeDir {
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
	} else {
		data, err := io.ReadAll(content)
		if err != nil {
			return err
		}
		if err := os.WriteFile(to, data, 0o600); err != nil {
			return err
		}
	}
	if err := os.Chown(to, h.Uid, h.Gid); err != nil {
		return err
	}
	return os.Chmod(to, h.FileInfo().Mode())
}
