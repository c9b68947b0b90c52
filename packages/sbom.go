package main

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
)

// bills writes, for each binary, what it was made of: the modules that the binary itself names, in CycloneDX's JSON.
func (r *release) bills() error {
	for _, t := range r.built(targets) {
		bom, err := r.bill(t)
		if err != nil {
			return err
		}
		if err := writeBill(filepath.Join(r.out, fmt.Sprintf("taskrt_%s_%s.cdx.json", r.version, t)), bom); err != nil {
			return err
		}
	}
	return nil
}

// bill reads a binary.
func (r *release) bill(t target) (*cyclonedx.BOM, error) {
	info, err := buildinfo.ReadFile(r.program(t))
	if err != nil {
		return nil, err
	}
	sum, err := sumOf(r.program(t))
	if err != nil {
		return nil, err
	}
	root := cyclonedx.Component{
		BOMRef: "taskrt", Type: cyclonedx.ComponentTypeApplication, Name: "taskrt", Version: r.version,
		PackageURL: purl(info.Main.Path, r.version),
		Hashes:     &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: sum}},
		Licenses:   &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "Apache-2.0"}}},
		Properties: &[]cyclonedx.Property{{Name: "taskrt:target", Value: t.os + "/" + t.arch}, {Name: "taskrt:commit", Value: r.commit}},
	}
	components := []cyclonedx.Component{{
		BOMRef: "go", Type: cyclonedx.ComponentTypePlatform, Name: "go", Version: strings.TrimPrefix(info.GoVersion, "go"),
		PackageURL: purl("std", strings.TrimPrefix(info.GoVersion, "go")),
	}}
	needs := []string{"go"}
	for _, m := range info.Deps {
		components = append(components, component(m))
		needs = append(needs, refOf(m))
	}
	if len(info.Deps) == 0 {
		return nil, errors.New("the binary names no modules")
	}
	bom := cyclonedx.NewBOM() // without a serial number, which would differ each time
	bom.Metadata = &cyclonedx.Metadata{Timestamp: r.time.Format(time.RFC3339), Component: &root}
	bom.Components = &components
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: "taskrt", Dependencies: &needs}}
	return bom, nil
}

// component is one module. Its hash is go.sum's, which is one over the names and hashes of its files.
func component(m *debug.Module) cyclonedx.Component {
	if m.Replace != nil {
		m = m.Replace
	}
	return cyclonedx.Component{
		BOMRef: refOf(m), Type: cyclonedx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: purl(m.Path, m.Version),
		Properties: &[]cyclonedx.Property{{Name: "go:sum", Value: m.Sum}},
	}
}

func refOf(m *debug.Module) string { return m.Path + "@" + m.Version }

// purl is a package URL.
func purl(path, version string) string {
	return "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
}

func writeBill(name string, bom *cyclonedx.BOM) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return cyclonedx.NewBOMEncoder(f, cyclonedx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false).Encode(bom)
}
