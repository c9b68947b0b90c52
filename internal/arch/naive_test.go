package arch_test

import (
	"go/types"
	"testing"
)

// moduleImporter imports packages of this module from the parsed files.
type moduleImporter struct {
	t    *testing.T
	done map[string]*types.Package
}

var _ types.Importer = (*moduleImporter)(nil)

// Import implements types.Importer.
func (i *moduleImporter) Import(path string) (*types.Package, error) {
	if p := i.done[path]; p != nil {
		return p, nil
	}
	var files []*file
	for _, f := range load(i.t) {
		if module+"/"+f.dir == path && !f.test && f.built(i.t) {
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		return stdlib.Import(path)
	}
	p := check(i.t, files, i).pkg
	i.done[path] = p
	return p, nil
}

// TestNaiveSharesNoLogic: the naive model uses the types, constants and fields of package task, and none of its
// functions, methods or variables. (A second model that calls the first would agree with it.)
func TestNaiveSharesNoLogic(t *testing.T) {
	t.Parallel()
	var files []*file
	for _, f := range load(t) {
		if f.dir == "internal/sim/naive" && !f.test {
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		t.Fatal("no naive model found")
	}
	c := check(t, files, &moduleImporter{t, map[string]*types.Package{}})
	n := 0
	for id, obj := range c.info.Uses {
		if obj.Pkg() == nil || obj.Pkg().Path() != module+"/task" {
			continue
		}
		n++
		switch obj := obj.(type) {
		case *types.TypeName, *types.Const:
		case *types.Var:
			if !obj.IsField() {
				t.Errorf("%s uses the variable task.%s", files[0].fset.Position(id.Pos()), obj.Name())
			}
		default:
			t.Errorf("%s calls %s", files[0].fset.Position(id.Pos()), obj)
		}
	}
	if n < 100 {
		t.Fatalf("only %d uses of package task found: the check is broken", n)
	}
}
