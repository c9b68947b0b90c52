// Command packages makes what brings taskrt to a machine: archives with static binaries, Debian and RPM packages, an image for containers,
// bills of materials, checksums. The same commit gives the same bytes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "packages: %v\n", err)
		os.Exit(1)
	}
}

// release is what is made.
type release struct {
	root    string // of the repository
	out     string // directory of everything that is made
	version string // of taskrt, as the file VERSION says it
	commit  string
	time    time.Time // of every file in every archive
	binary  string    // of another build, which stands in for the binary of this machine's system; "": none
	only    []string  // kinds of files to make; empty: all
}

// kinds are the files that can be made, in the order in which they are made.
var kinds = []struct {
	name string
	make func(*release) error
}{
	{"tar", (*release).archives}, {"sbom", (*release).bills}, {"deb", (*release).debs}, {"rpm", (*release).rpms}, {"image", (*release).images},
}

func run(args []string) error {
	r, err := readFlags(args)
	if err != nil {
		return err
	}
	if err := r.fresh(); err != nil {
		return err
	}
	if err := r.build(); err != nil {
		return err
	}
	for _, k := range kinds {
		if len(r.only) > 0 && !slices.Contains(r.only, k.name) {
			continue
		}
		if err := k.make(r); err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
	}
	return r.sums()
}

func readFlags(args []string) (*release, error) {
	r := &release{}
	f := flag.NewFlagSet("packages", flag.ContinueOnError)
	f.StringVar(&r.root, "root", "..", "directory of the repository")
	f.StringVar(&r.out, "out", "../dist", "directory to make everything in; what is in it goes")
	f.StringVar(&r.version, "version", "", "version to name the files by; default: the file VERSION")
	f.StringVar(&r.commit, "commit", "", "commit to write into the binaries; default: git's HEAD")
	f.StringVar(&r.binary, "binary", "", "FILE to package for linux on this machine's processor, in place of a binary of this tree: of a former version")
	systems := f.String("targets", "", "systems to make files for, as linux_amd64, separated by commas; default: all")
	only := f.String("only", "", "kinds of files to make, separated by commas: "+strings.Join(names(), ", "))
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("there is no argument %q", f.Arg(0))
	}
	if *only != "" {
		r.only = strings.Split(*only, ",")
	}
	for _, name := range r.only {
		if !slices.Contains(names(), name) {
			return nil, fmt.Errorf("-only: there is no kind %q", name)
		}
	}
	if *systems != "" {
		targets = slices.DeleteFunc(targets, func(t target) bool { return !slices.Contains(strings.Split(*systems, ","), t.String()) })
	}
	if len(targets) == 0 {
		return nil, fmt.Errorf("-targets: there is none of %s", *systems)
	}
	if r.version == "" {
		text, err := os.ReadFile(filepath.Join(r.root, "VERSION"))
		if err != nil {
			return nil, err
		}
		r.version = strings.TrimSpace(string(text))
	}
	if r.commit == "" {
		r.commit = r.git("rev-parse", "--short=12", "HEAD")
	}
	var err error
	r.time, err = r.epoch()
	return r, err
}

func names() (all []string) {
	for _, k := range kinds {
		all = append(all, k.name)
	}
	return all
}

// git asks git about the repository. A tree without a repository gives "unknown".
func (r *release) git(args ...string) string {
	c := exec.Command("git", args...)
	c.Dir = r.root
	out, err := c.Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// epoch is the time of all files: SOURCE_DATE_EPOCH, else the time of the commit. A tree without a repository must be told.
func (r *release) epoch() (time.Time, error) {
	said := os.Getenv("SOURCE_DATE_EPOCH")
	if said == "" {
		said = r.git("log", "-1", "--format=%ct")
	}
	seconds, err := strconv.ParseInt(said, 10, 64)
	if err != nil {
		return time.Time{}, errors.New("SOURCE_DATE_EPOCH must say the time of the files in seconds since 1970: there is no commit to ask, or the variable is no number")
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// fresh makes the directory empty. A directory that something else has filled is refused.
func (r *release) fresh() error {
	for _, dir := range []*string{&r.root, &r.out} {
		var err error
		if *dir, err = filepath.Abs(*dir); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(r.out)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if _, err := os.Stat(filepath.Join(r.out, mark)); err != nil && len(entries) > 0 {
		return fmt.Errorf("%s has files in it, and no %s: it was not made by this program, so nothing there is removed", r.out, mark)
	}
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, mark), []byte("packages/main.go made this directory, and empties it when it makes it anew.\n"), 0o644)
}

// mark is the name of the file that says whose a directory is.
const mark = ".made-by-packages"
