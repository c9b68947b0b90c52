package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/taskrt/taskrt/internal/mutants/fragment"
)

// sources reads the Go files of each directory once.
type sources struct {
	mu   sync.Mutex
	dirs map[string]func() ([]source, error)
}

// source is one Go file that is no test, with the places of its declarations.
type source struct {
	file, text string
	decls      map[string][]fragment.Span // "assign", "Machine.assign", "Machine", "maxTasks" → where it is declared
}

func newSources() *sources { return &sources{dirs: map[string]func() ([]source, error){}} }

// sabotage returns the file in which m.Old stands, and the file's text with m.New in its place.
func (s *sources) sabotage(m mutant) (file, text string, err error) {
	if m.File != "" {
		src, err := os.ReadFile(m.File)
		if err != nil {
			return "", "", fmt.Errorf("stale: %w", err)
		}
		if n := strings.Count(string(src), m.Old); n != 1 {
			return "", "", fmt.Errorf("stale: %s: the text to replace occurs %d times, want once: %q", m.File, n, m.Old)
		}
		return m.File, strings.Replace(string(src), m.Old, m.New, 1), nil
	}
	files, err := s.of(m.Dir)
	if err != nil {
		return "", "", fmt.Errorf("stale: %w", err)
	}
	declared, found := 0, 0
	for _, f := range files {
		for _, decl := range f.decls[m.In] {
			declared++
			for _, at := range fragment.Find(f.text[decl.From:decl.To], m.Old) {
				found++
				file, text = f.file, f.text[:decl.From+at.From]+m.New+f.text[decl.From+at.To:]
			}
		}
	}
	switch {
	case declared == 0:
		return "", "", fmt.Errorf("stale: %s declares no %s", m.Dir, m.In)
	case found != 1:
		return "", "", fmt.Errorf("stale: %s, %s: the fragment to replace occurs %d times, want once: %s", m.Dir, m.In, found, m.Old)
	}
	return file, text, nil
}

// of returns the sources of a directory.
func (s *sources) of(dir string) ([]source, error) {
	s.mu.Lock()
	read := s.dirs[dir]
	if read == nil {
		read = sync.OnceValues(func() ([]source, error) { return readSources(dir) })
		s.dirs[dir] = read
	}
	s.mu.Unlock()
	return read()
}

func readSources(dir string) ([]source, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var all []source
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		all = append(all, source{name, string(text), placesIn(fset, f)})
	}
	return all, nil
}

// placesIn returns where a file declares each name.
func placesIn(fset *token.FileSet, f *ast.File) map[string][]fragment.Span {
	places := map[string][]fragment.Span{}
	add := func(name string, n ast.Node) {
		places[name] = append(places[name], fragment.Span{From: fset.Position(n.Pos()).Offset, To: fset.Position(n.End()).Offset})
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			add(funcName(d), d)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				var place ast.Node = spec
				if !d.Lparen.IsValid() {
					place = d // with its keyword
				}
				for _, name := range namesOf(spec) {
					add(name.Name, place)
				}
			}
		}
	}
	return places
}

// namesOf returns the names that a type, or variables or constants, are declared by.
func namesOf(spec ast.Spec) []*ast.Ident {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		return []*ast.Ident{spec.Name}
	case *ast.ValueSpec:
		return spec.Names
	}
	return nil // an import
}

// funcName returns "F" or, of a method, "T.M".
func funcName(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	typ, _, _ := strings.Cut(types.ExprString(fn.Recv.List[0].Type), "[") // without type parameters
	return strings.TrimPrefix(typ, "*") + "." + fn.Name.Name
}
