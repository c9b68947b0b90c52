package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // nfpm.Get knows it by that
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// debs makes the packages for Debian and Ubuntu.
func (r *release) debs() error { return r.packages("deb") }

// rpms makes the packages for Fedora, RHEL and SUSE.
func (r *release) rpms() error { return r.packages("rpm") }

// packages makes a package of the format for each processor, as nfpm.yaml says.
func (r *release) packages(format string) error {
	for _, t := range r.built(linux()) {
		if err := r.pack(format, t); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
	}
	return nil
}

func (r *release) pack(format string, t target) (err error) {
	config, err := nfpm.ParseFileWithEnvMapping(filepath.Join(r.root, "packages", "nfpm.yaml"), func(name string) string {
		switch name {
		case "ARCH":
			return t.arch
		case "VERSION":
			return r.version
		case "ROOT":
			return r.root
		case "PROGRAM":
			return r.program(t)
		case "WORK":
			return r.work()
		}
		return ""
	})
	if err != nil {
		return err
	}
	info, err := config.Get(format)
	if err != nil {
		return err
	}
	info = nfpm.WithDefaults(info)
	info.MTime = r.time
	for _, script := range []*string{&info.Scripts.PostInstall, &info.Scripts.PreRemove, &info.Scripts.PostRemove} { // nfpm fills in nothing there
		*script = filepath.Join(r.root, *script)
	}
	for _, c := range info.Contents {
		if c.FileInfo == nil || c.FileInfo.Mode == 0 {
			return fmt.Errorf("nfpm.yaml: %s has no mode, so its mode would be that of a file of this machine", c.Destination)
		}
		c.FileInfo.MTime = r.time
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(r.out, packager.ConventionalFileName(info)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return packager.Package(info, f)
}
