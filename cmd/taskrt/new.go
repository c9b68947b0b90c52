package main

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

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/internal/terminal"
	"github.com/taskrt/taskrt/plugins/sdk"
)

// templates holds a directory for each language, with a file NAME.tmpl for each file NAME of a new plugin.
//
//go:embed all:templates
var templates embed.FS

const (
	templatesDir   = "templates"
	templateSuffix = ".tmpl"
	sdkModule      = "github.com/taskrt/taskrt"
)

func (p *program) newCommand() *cli.Command {
	const cmd = "new"
	return &cli.Command{
		Name: cmd, Usage: "make a directory with a new plugin that builds, and tests that pass", ArgsUsage: "LANGUAGE NAME", Category: "behaviors",
		Description: "LANGUAGE is one of: " + languageNames() + ". NAME becomes the name of the behavior.",
		Flags: []cli.Flag{
			stringFlag(cmd, "dir", "", "DIRECTORY to make; default NAME in the working directory"),
			stringFlag(cmd, "sdk", "", "go: DIRECTORY of a clone of "+sdkModule+" whose SDK the plugin uses; default the one that\n"+
				"the working directory or this binary lies in, else the release that this binary is of"),
		},
		Action: p.newPlugin,
	}
}

// language is what plugins are written in: there is a template directory of its name.
type language struct {
	name string
	// sdk is copied into the plugin as the directory sdk/, so that it builds by itself. nil: the SDK is a module that the
	// language's own tools fetch.
	sdk fs.FS
}

var languages = []language{
	{name: "go"},
	{name: "assemblyscript", sdk: sdk.AssemblyScript()},
	{name: "c", sdk: sdk.C()},
	{name: "rust", sdk: sdk.Rust()},
}

func languageNames() string {
	var names []string
	for _, l := range languages {
		names = append(names, l.name)
	}
	return strings.Join(names, ", ")
}

func languageOf(name string) (language, bool) {
	for _, l := range languages {
		if l.name == name {
			return l, true
		}
	}
	return language{}, false
}

// newPluginData is what the templates know.
type newPluginData struct {
	Name    string
	Version string // of the SDK's Go module
	SDK     string // absolute directory of a clone; "": the Version is a released one
}

// pluginName is narrower than what a behavior may be called: it is part of a Go module's path and a file's name, too.
var pluginName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{1,62}[a-z0-9]$`)

func (p *program) newPlugin(c *cli.Context) error {
	data := newPluginData{Name: c.Args().Get(1)}
	lang, ok := languageOf(c.Args().Get(0))
	if !ok {
		return usagef(c, "there is no template for %q; there are: %s", c.Args().Get(0), languageNames())
	}
	if !pluginName.MatchString(data.Name) {
		return usagef(c, "NAME must be 3 to 64 of a-z0-9._-, with a letter or digit at both ends, not %q", data.Name)
	}
	from, err := fs.Sub(templates, path.Join(templatesDir, lang.name))
	if err != nil {
		return err
	}
	if lang.sdk == nil {
		if data.SDK, data.Version, err = findSDK(c); err != nil {
			return err
		}
	}
	dir := c.String("dir")
	if dir == "" {
		dir = data.Name
	}
	if err := emptyDir(dir); err != nil {
		return usagef(c, "%w", err)
	}
	if err := writeTemplates(from, dir, data); err != nil {
		return err
	}
	if lang.sdk != nil {
		if err := os.CopyFS(filepath.Join(dir, "sdk"), lang.sdk); err != nil {
			return err
		}
	}
	fetch := ""
	if lang.sdk == nil && data.SDK == "" {
		fetch = fmt.Sprintf("  go mod tidy    # once: fetches the SDK %s\n", data.Version)
	}
	return p.stdout.Printf("%s is ready. README.md says what is where; next:\n\n  cd %s\n%s  make test\n  make           # %s.wasm\n",
		dir, dir, terminal.Lines(fetch), data.Name)
}

// emptyDir makes a directory, which may be there if nothing is in it.
func emptyDir(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("%s is not empty", dir)
	}
	return err
}

func writeTemplates(from fs.FS, dir string, data newPluginData) error {
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

// releaseVersion are versions that the go command can fetch: of a tag, or of a commit. What `git describe` says is none.
var releaseVersion = regexp.MustCompile(`^v\d+\.\d+\.\d+(-(alpha|beta|rc)[.\d]*|-(\w+\.)*\d{14}-[0-9a-f]{12})?$`)

// findSDK returns the directory of the clone whose SDK a new plugin is to use, or "" and the version of a release.
func findSDK(c *cli.Context) (dir, version string, err error) {
	const unreleased = "v0.0.0" // any: it is replaced
	if given := c.String("sdk"); given != "" {
		dir, err = filepath.Abs(given)
		if err == nil && !isSDK(dir) {
			err = fmt.Errorf("%s has no go.mod of module %s", given, sdkModule)
		}
		if err != nil {
			return "", "", usagef(c, "--sdk: %w", err)
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
	if v := buildVersion().Version; releaseVersion.MatchString(v) {
		return "", v, nil
	}
	return "", "", usagef(c, "this binary (%s) is of no release, whose SDK could be fetched: give the directory of a clone of %s as --sdk",
		buildVersion().Version, sdkModule)
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
	return err == nil && strings.TrimSpace(first) == "module "+sdkModule
}
