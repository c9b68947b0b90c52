package main

import (
	"path/filepath"

	"github.com/taskrt/taskrt/packages/image"
)

// images makes one file with the image for containers, for all processors that Linux's binaries are for.
func (r *release) images() error {
	s := image.Source{Version: r.version, Revision: r.commit, Time: r.time, License: filepath.Join(r.root, "LICENSE")}
	for _, t := range r.built(targets) {
		if t.os == "linux" {
			s.Programs = append(s.Programs, image.Binary{Arch: t.arch, File: r.program(t)})
		}
	}
	return image.Write(filepath.Join(r.out, "taskrt_"+r.version+"_image.tar"), r.work("image"), s)
}
