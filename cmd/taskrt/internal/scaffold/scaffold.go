// Package scaffold makes the directory of a new plugin. The plugin builds, and its tests pass.
package scaffold

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"

	"github.com/taskrt/taskrt/plugins/sdk"
)

// templates holds a directory for each language, with a file NAME.tmpl for each file NAME of a new plugin.
//
//go:embed all:templates
var templates embed.FS

const (
	templatesDir   = "templates"
	templateSuffix = ".tmpl"
	// SDKModule is the SDK's Go module.
	SDKModule = "github.com/taskrt/taskrt"
)

// Language is what plugins are written in: there is a template directory of its name.
type Language struct {
	name string
	// sdk is copied into the plugin as the directory sdk/, so that it builds by itself. nil: the SDK is a module that the
	// language's own tools fetch.
	sdk fs.FS
}

var languages = []Language{
	{name: "go"},
	{name: "assemblyscript", sdk: sdk.AssemblyScript()},
	{name: "c", sdk: sdk.C()},
	{name: "rust", sdk: sdk.Rust()},
}

// Languages lists the names of the languages.
func Languages() string {
	var names []string
	for _, l := range languages {
		names = append(names, l.name)
	}
	return strings.Join(names, ", ")
}

// LanguageOf finds a language by its name.
func LanguageOf(name string) (Language, bool) {
	for _, l := range languages {
		if l.name == name {
			return l, true
		}
	}
	return Language{}, false
}

// FetchesSDK says whether a plugin's SDK is a module that the language's own tools fetch: FindSDK finds it.
func (l Language) FetchesSDK() bool { return l.sdk == nil }

// Plugin is what the templates know of a new plugin.
type Plugin struct {
	Name    string
	Version string // of the SDK's Go module
	SDK     string // absolute directory of a clone; "": the Version is a released one
}

// pluginName is narrower than what a behavior may be called: it is part of a Go module's path and of a file's name, too.
var pluginName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{1,62}[a-z0-9]$`)

// NameOK says whether a plugin may have this name.
func NameOK(name string) bool { return pluginName.MatchString(name) }

// Write writes a plugin into a directory that EmptyDir has made.
func (l Language) Write(dir string, data Plugin) error {
	from, err := fs.Sub(templates, path.Join(templatesDir, l.name))
	if err != nil {
		return err
	}
	if err := writeTemplates(from, dir, data); err != nil || l.sdk == nil {
		return err
	}
	return os.CopyFS(filepath.Join(dir, "sdk"), l.sdk)
}

// EmptyDir makes a directory, which may be there if nothing is in it.
func EmptyDir(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("%s is not empty", dir)
	}
	return err
}

func writeTemplates(from fs.FS, dir string, data Plugin) error {
	return fs.WalkDir(from, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(strings.TrimSuffix(name, templateSuffix)))
		if e.IsDir() {
			return os.MkdirAll(to, 0o777)
		}
		text, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		t, err := template.New(name).Option("missingkey=error").Parse(string(text))
		if err != nil {
			return err
		}
		var out bytes.Buffer
		if err := t.Execute(&out, data); err != nil {
			return err
		}
		return os.WriteFile(to, out.Bytes(), 0o666)
	})
}

// releaseVersion matches versions that the go command can fetch: of a tag, or of a commit. What `git describe` says
// is no such version.
var releaseVersion = regexp.MustCompile(`^v\d+\.\d+\.\d+(-(alpha|beta|rc)[.\d]*|-(\w+\.)*\d{14}-[0-9a-f]{12})?$`)

// FindSDK finds the SDK for a new plugin. It returns the directory of a clone: the given one, else one that contains
// the working directory or this binary. If there is no clone, it returns "" and release, the version of which this
// binary is.
func FindSDK(given, release string) (dir, version string, err error) {
	const unreleased = "v0.0.0" // any: it is replaced
	if given != "" {
		dir, err = filepath.Abs(given)
		if err == nil && !isSDK(dir) {
			err = fmt.Errorf("%s has no go.mod of module %s", given, SDKModule)
		}
		if err != nil {
			return "", "", fmt.Errorf("--sdk: %w", err)
		}
		return dir, unreleased, nil
	}
	if here, err := os.Getwd(); err == nil {
		if dir := cloneAbove(here); dir != "" {
			return dir, unreleased, nil
		}
	}
	if binary, err := os.Executable(); err == nil {
		if binary, err = filepath.EvalSymlinks(binary); err == nil {
			if dir := cloneAbove(filepath.Dir(binary)); dir != "" {
				return dir, unreleased, nil
			}
		}
	}
	if releaseVersion.MatchString(release) {
		return "", release, nil
	}
	return "", "", fmt.Errorf("this binary (%s) is of no release, whose SDK could be fetched: give the directory of a clone of %s as --sdk",
		release, SDKModule)
}

// cloneAbove returns the innermost directory at or above dir that is a clone; "" if none is.
func cloneAbove(dir string) string {
	for {
		if isSDK(dir) {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// isSDK reports whether a directory holds the Go module of the SDK.
func isSDK(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return err == nil && strings.TrimSpace(first) == "module "+SDKModule
}
