package image

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// made makes an image of a file in place of the program, and returns its archive.
func made(t *testing.T, s Source) string {
	t.Helper()
	dir := t.TempDir()
	s.Version, s.Revision, s.Time = "1.2.3-dev", "0123456789ab", time.Unix(1700000000, 0).UTC()
	s.License = filepath.Join(dir, "LICENSE")
	write(t, s.License, "a license")
	if s.Programs == nil {
		for _, arch := range []string{"amd64", "arm64"} {
			file := filepath.Join(dir, arch)
			write(t, file, "a program for "+arch)
			s.Programs = append(s.Programs, Binary{arch, file})
		}
	}
	out := filepath.Join(dir, "image.tar")
	if err := Write(out, filepath.Join(dir, "work", "image"), s); err != nil {
		t.Fatal(err)
	}
	return out
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// unpack returns the directory of a layout that was in an archive.
func unpack(t *testing.T, archive string) string {
	t.Helper()
	dir := t.TempDir()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if err == io.EOF {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(to, 0o755)
		} else {
			var data []byte
			if data, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(to, data, 0o644)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// indexOf is the one image of a layout.
func indexOf(t *testing.T, dir string) (v1.ImageIndex, v1.Descriptor) {
	t.Helper()
	top, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	m, err := top.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Manifests) != 1 || m.Manifests[0].MediaType != types.OCIImageIndex {
		t.Fatalf("the layout has not one image: %+v", m.Manifests)
	}
	index, err := top.ImageIndex(m.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return index, m.Manifests[0]
}

// TestSameBytes: the same input gives the same archive.
func TestSameBytes(t *testing.T) {
	var archives [2][]byte
	for i := range archives {
		var err error
		if archives[i], err = os.ReadFile(made(t, Source{})); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(archives[0], archives[1]) {
		t.Error("the bytes differ")
	}
}

// TestImage: each processor gets its program, and a configuration that needs no shell, no root and one writable directory.
func TestImage(t *testing.T) {
	index, descriptor := indexOf(t, unpack(t, made(t, Source{})))
	if err := validate.Index(index); err != nil {
		t.Fatal(err)
	}
	if got := descriptor.Annotations["org.opencontainers.image.ref.name"]; got != "1.2.3-dev" {
		t.Errorf("the tag: %q", got)
	}
	m, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	var bases []v1.Hash
	for _, d := range m.Manifests {
		seen = append(seen, d.Platform.String())
		img, err := index.Image(d.Digest)
		if err != nil {
			t.Fatal(err)
		}
		checkConfig(t, d.Platform, img)
		checkFiles(t, d.Platform, img)
		layers, err := img.Layers()
		if err != nil {
			t.Fatal(err)
		}
		base, err := layers[0].Digest()
		if err != nil {
			t.Fatal(err)
		}
		bases = append(bases, base)
	}
	if !slices.Equal(seen, []string{"linux/amd64", "linux/arm64/v8"}) || bases[0] != bases[1] {
		t.Errorf("%v on %v", seen, bases)
	}
}

func checkConfig(t *testing.T, p *v1.Platform, img v1.Image) {
	t.Helper()
	f, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if got := f.Platform(); !got.Equals(*p) {
		t.Errorf("the manifest is for %s, its configuration for %s", p, got)
	}
	c := f.Config
	if c.User != "65532:65532" || c.StopSignal != "SIGTERM" || c.WorkingDir != Data || !slices.Equal(c.Entrypoint, []string{Program}) || !slices.Equal(c.Cmd, []string{"server"}) {
		t.Errorf("%+v", c)
	}
	if _, ok := c.Volumes[Data]; !ok || len(c.Volumes) != 1 || len(c.ExposedPorts) != 2 {
		t.Errorf("volumes %v, ports %v", c.Volumes, c.ExposedPorts)
	}
	if c.Healthcheck == nil || c.Healthcheck.Test[0] != "CMD" || c.Healthcheck.Test[1] != Program {
		t.Errorf("health: %+v", c.Healthcheck)
	}
	for _, label := range []string{"title", "description", "version", "revision", "created", "licenses", "source", "url", "documentation"} {
		if c.Labels["org.opencontainers.image."+label] == "" {
			t.Errorf("no label %s", label)
		}
	}
	if c.Labels["org.opencontainers.image.version"] != "1.2.3-dev" || c.Labels["org.opencontainers.image.created"] != "2023-11-14T22:13:20Z" || !f.Created.Equal(time.Unix(1700000000, 0)) {
		t.Errorf("labels %v, created %v", c.Labels, f.Created)
	}
}

func checkFiles(t *testing.T, p *v1.Platform, img v1.Image) {
	t.Helper()
	content := map[string]string{}
	flat := mutate.Extract(img)
	defer flat.Close()
	var list strings.Builder
	for r := tar.NewReader(flat); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		content[h.Name] = string(data)
		fmt.Fprintf(&list, "%s %04o %d:%d\n", h.Name, h.Mode, h.Uid, h.Gid)
		if !h.ModTime.Equal(time.Unix(1700000000, 0)) {
			t.Errorf("%s is of %v", h.Name, h.ModTime)
		}
	}
	lines := strings.Split(strings.TrimSpace(list.String()), "\n")
	slices.Sort(lines)
	want := []string{
		"data 0750 65532:65532", "etc 0755 0:0", "etc/group 0644 0:0", "etc/hosts 0644 0:0", "etc/passwd 0644 0:0", "etc/ssl 0755 0:0", "etc/ssl/certs 0755 0:0",
		"etc/ssl/certs/ca-certificates.crt 0644 0:0", "tmp 1777 0:0", "usr 0755 0:0", "usr/bin 0755 0:0", "usr/bin/taskrt 0755 0:0",
		"usr/share 0755 0:0", "usr/share/doc 0755 0:0", "usr/share/doc/taskrt 0755 0:0", "usr/share/doc/taskrt/LICENSE 0644 0:0",
	}
	if got := strings.ReplaceAll(strings.Join(lines, "\n"), "/ ", " "); got != strings.Join(want, "\n") {
		t.Errorf("files:\n%s", got)
	}
	if got := content["usr/bin/taskrt"]; got != "a program for "+p.Architecture {
		t.Errorf("the program is %q", got)
	}
	pool := x509.NewCertPool()
	roots := content["etc/ssl/certs/ca-certificates.crt"]
	if n := strings.Count(roots, "BEGIN CERTIFICATE"); n < 100 || !pool.AppendCertsFromPEM([]byte(roots)) {
		t.Errorf("%d authorities", n)
	}
}

// TestPush: a registry takes the archive as it is, and gives each machine its image.
func TestPush(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	ref, err := name.ParseReference(strings.TrimPrefix(server.URL, "http://") + "/ours/taskrt:1.2.3-dev")
	if err != nil {
		t.Fatal(err)
	}
	index, d := indexOf(t, unpack(t, made(t, Source{})))
	if err := remote.WriteIndex(ref, index); err != nil {
		t.Fatal(err)
	}
	got, err := remote.Get(ref)
	if err != nil || got.Digest != d.Digest {
		t.Fatalf("%v is %v there, %v", d.Digest, got, err)
	}
	img, err := remote.Image(ref, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: "arm64"}))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(img); err != nil {
		t.Error(err)
	}
	if f, err := img.ConfigFile(); err != nil || f.Architecture != "arm64" {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestBadSource: what cannot be read is named, and no image comes of it.
func TestBadSource(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing")
	present := filepath.Join(dir, "present")
	write(t, present, "x")
	for _, s := range []Source{{License: present}, {License: present, Programs: []Binary{{"amd64", missing}}}, {License: missing, Programs: []Binary{{"amd64", present}}}} {
		err := Write(filepath.Join(dir, "image.tar"), filepath.Join(dir, "work"), s)
		if err == nil || len(s.Programs) > 0 && !strings.Contains(err.Error(), missing) {
			t.Errorf("%+v: %v", s, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "image.tar")); err == nil {
			t.Errorf("%+v made an image", s)
		}
	}
}
