package arch_test

import (
	"go/ast"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// sayers are what has to know every field of a behavior: the contract, the page for authors, and the SDKs that write manifests.
// (An author who uses the SDK for C writes JSON.)
var sayers = []string{
	"docs/spec.md", "docs/plugin-manifest.md", "plugins/sdk/go/manifest.go", "plugins/sdk/rust/src/manifest.rs", "plugins/sdk/assemblyscript/assembly/manifest.ts",
}

// TestEveryBehaviorFieldIsSaid: a field of a manifest's behavior stands in the contract, on the page for authors, and in the
// SDKs. (Package policy has the test that the field arrives in the log and comes back.)
func TestEveryBehaviorFieldIsSaid(t *testing.T) {
	t.Parallel()
	structs := map[string]*ast.StructType{}
	for _, f := range load(t) {
		if f.dir != "runtime/manifest" || f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if s, ok := spec.Type.(*ast.StructType); ok {
					structs[spec.Name.Name] = s
				}
			}
			return true
		})
	}
	var names []string
	var collect func(s *ast.StructType)
	collect = func(s *ast.StructType) {
		for _, field := range s.Fields.List {
			if field.Tag == nil {
				continue
			}
			name, _, _ := strings.Cut(reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Get("json"), ",")
			names = append(names, name)
			if p, ok := field.Type.(*ast.StarExpr); ok {
				if id, ok := p.X.(*ast.Ident); ok && structs[id.Name] != nil {
					collect(structs[id.Name])
				}
			}
		}
	}
	if structs["Behavior"] == nil {
		t.Fatal("no struct Behavior in package manifest")
	}
	collect(structs["Behavior"])
	if len(names) < 40 {
		t.Fatalf("only %d fields found: %q", len(names), names)
	}
	for _, sayer := range sayers {
		text := read(t, filepath.Join(root(t), sayer))
		for _, name := range names {
			if !regexp.MustCompile(`\b` + name + `\b`).MatchString(text) {
				t.Errorf("%s does not know the field %s of a behavior", sayer, name)
			}
		}
	}
}
