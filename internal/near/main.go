// Command near prints the packages that a change concerns closely: those whose files it touches, and those that import one of these, in their tests
// too. A change is what the work tree holds that the common past with another commit does not.
//
//	go run ./internal/near [-base main] [-changed] [-not REGEXP]
package main

import (
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/taskrt/taskrt/internal/golist"
	"github.com/taskrt/taskrt/internal/leash"
)

func main() {
	base := flag.String("base", "main", "the commit to which the change will be added")
	only := flag.Bool("changed", false, "leave out the packages that import changed ones")
	not := flag.String("not", "^$", "leave out packages whose import paths match")
	flag.Parse()
	paths, err := find(".", *base, *only)
	if err != nil {
		fmt.Fprintln(os.Stderr, "near:", err)
		os.Exit(1)
	}
	out := regexp.MustCompile(*not)
	for _, p := range paths {
		if !out.MatchString(p) {
			fmt.Println(p)
		}
	}
}

// find returns the import paths of the packages that the change of the clone in root concerns, sorted.
func find(root, base string, only bool) ([]string, error) {
	files, err := changed(root, base)
	if err != nil {
		return nil, err
	}
	all, err := list(root)
	if err != nil {
		return nil, err
	}
	return near(all, files, only), nil
}

// changed returns the files of the clone that differ from the common past with base, or are new and not ignored. A clone without base is compared
// with its own last commit.
func changed(root, base string) ([]string, error) {
	past, err := git(root, "merge-base", "HEAD", base)
	if err != nil || len(past) == 0 {
		past = []string{"HEAD"}
	}
	differ, err := git(root, "diff", "--name-only", "--no-renames", past[0])
	if err != nil {
		return nil, err
	}
	added, err := git(root, "ls-files", "--others", "--exclude-standard")
	return append(differ, added...), err
}

// git returns the lines that git prints.
func git(root string, args ...string) ([]string, error) {
	cmd := leash.Command("git", append([]string{"-c", "core.quotePath=false"}, args...)...)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' }), nil
}

// listed is what go list says of a package.
type listed struct {
	ImportPath, Dir                    string
	Imports, TestImports, XTestImports []string
}

// list asks go for the packages of the module. It makes their directories relative to root.
func list(root string) ([]listed, error) {
	all, err := golist.Packages[listed](root, "-tags", "urfave_cli_no_docs", "-json=ImportPath,Dir,Imports,TestImports,XTestImports", "./...")
	if err != nil {
		return nil, err
	}
	base, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	if base, err = filepath.EvalSymlinks(base); err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].Dir, err = filepath.Rel(base, all[i].Dir); err != nil {
			return nil, err
		}
		all[i].Dir = filepath.ToSlash(all[i].Dir)
	}
	return all, nil
}

// near returns the packages that the changed files belong to, and the importers of these packages. A file belongs to the package in the nearest
// directory above it.
func near(all []listed, files []string, only bool) []string {
	at := map[string]string{} // import paths by directory
	for _, p := range all {
		at[p.Dir] = p.ImportPath
	}
	found := map[string]bool{}
	for _, f := range files {
		for dir := path.Dir(f); ; dir = path.Dir(dir) {
			if p, ok := at[dir]; ok {
				found[p] = true
			} else if dir != "." {
				continue
			}
			break
		}
	}
	var paths []string
	for _, p := range all {
		imports := slices.Concat(p.Imports, p.TestImports, p.XTestImports)
		if found[p.ImportPath] || !only && slices.ContainsFunc(imports, func(i string) bool { return found[i] }) {
			paths = append(paths, p.ImportPath)
		}
	}
	slices.Sort(paths)
	return paths
}
