// Package image makes an image for containers: one index of a manifest for each processor, as an OCI layout in one tar file. No daemon is asked,
// and the same input gives the same bytes.
//
// There is nothing in an image but the program, the authorities that its HTTPS trusts, and a user: no shell, no library, no package manager.
package image

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// What the image promises to people who write a file for a cluster of containers.
const (
	Program  = "/usr/bin/taskrt"
	User     = 65532 // and its group
	Data     = "/data"
	HTTPPort = 7070
	RaftPort = 7170
)

// Source is what an image is made of.
type Source struct {
	Version  string
	Revision string    // of the sources
	Time     time.Time // of every file in it
	License  string    // file
	Programs []Binary
}

// Binary is the program for one processor.
type Binary struct{ Arch, File string }

// Write makes the image in the file name. It takes a directory of work, which does not exist, and leaves it to the caller to be removed.
func Write(name, work string, s Source) error {
	index, err := s.index()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(work), 0o755); err != nil {
		return err
	}
	at, err := layout.Write(work, empty.Index)
	if err != nil {
		return err
	}
	// The names are for tools that load an archive: the first is OCI's, which has none of a repository, the second containerd's and Docker's.
	err = at.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": s.Version,
		"io.containerd.image.name":          "docker.io/library/taskrt:" + s.Version,
	}))
	if err != nil {
		return err
	}
	return archive(name, work, s.Time)
}

// index is what a registry has under one tag: a machine takes the manifest for its processor.
func (s Source) index() (v1.ImageIndex, error) {
	if len(s.Programs) == 0 {
		return nil, errors.New("an image of no program")
	}
	base, err := s.base()
	if err != nil {
		return nil, err
	}
	index := mutate.Annotations(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), s.labels()).(v1.ImageIndex)
	for _, p := range s.Programs {
		img, err := s.image(base, p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Arch, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: platform(p.Arch)}})
	}
	return index, nil
}

func platform(arch string) *v1.Platform {
	p := &v1.Platform{OS: "linux", Architecture: arch}
	if arch == "arm64" {
		p.Variant = "v8"
	}
	return p
}

// image is what one processor gets: the base, which stays the same from version to version, and the program.
func (s Source) image(base v1.Layer, p Binary) (v1.Image, error) {
	program, err := s.program(p.File)
	if err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	at := v1.Time{Time: s.Time}
	img, err = mutate.Append(img,
		mutate.Addendum{Layer: base, History: v1.History{Created: at, CreatedBy: "packages/image: authorities, user, " + Data}},
		mutate.Addendum{Layer: program, History: v1.History{Created: at, CreatedBy: "packages/image: " + Program}},
	)
	if err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	where := platform(p.Arch)
	config.Created, config.OS, config.Architecture, config.Variant = at, where.OS, where.Architecture, where.Variant
	config.Config = s.config()
	return mutate.ConfigFile(img, config)
}

// config is what a container does unless it is told otherwise: it is a server, listens for others, and keeps everything in one volume. The server
// refuses to listen for others until it is given a secret, or told that it needs none.
func (s Source) config() v1.Config {
	user := fmt.Sprintf("%d:%d", User, User)
	return v1.Config{
		User:       user,
		Entrypoint: []string{Program},
		Cmd:        []string{"server"},
		WorkingDir: Data,
		Env: []string{
			"PATH=/usr/bin",
			"TASKRT_DIR=" + Data + "/node", // a volume may have files of its own, like lost+found
			fmt.Sprintf("TASKRT_HTTP=0.0.0.0:%d", HTTPPort),
			fmt.Sprintf("TASKRT_RAFT=0.0.0.0:%d", RaftPort),
		},
		Volumes:      map[string]struct{}{Data: {}},
		ExposedPorts: map[string]struct{}{fmt.Sprintf("%d/tcp", HTTPPort): {}, fmt.Sprintf("%d/tcp", RaftPort): {}},
		StopSignal:   "SIGTERM",
		Labels:       s.labels(),
		// OCI has no such field, Docker and Podman have. Some supervisors start a container again that is not well, and a node without a
		// leader must not be: so the question is whether it lives.
		Healthcheck: &v1.HealthConfig{
			Test: []string{"CMD", Program, "server", "--health", "live"}, Interval: 10 * time.Second, Timeout: 30 * time.Second, StartPeriod: time.Minute, Retries: 3,
		},
	}
}

// labels are OCI's own annotations.
func (s Source) labels() map[string]string {
	const of = "org.opencontainers.image."
	const home = "https://github.com/taskrt/taskrt"
	return map[string]string{
		of + "title": "taskrt", of + "description": "Runs tasks reliably on a small cluster, from one binary", of + "version": s.Version,
		of + "revision": s.Revision, of + "created": s.Time.Format(time.RFC3339), of + "licenses": "Apache-2.0",
		of + "source": home, of + "url": home, of + "documentation": home + "/blob/main/docs/install.md",
	}
}
