package linear

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// planted are bugs that the check must find, each in a line of the product. An overlay builds them in, so nothing in
// the tree changes.
var planted = []struct{ name, file, old, new string }{
	{
		name: "reads that ask nobody",
		file: "node/service/read.go",
		old:  "if o.stale {",
		new:  "if o.stale || true {",
	},
	{
		name: "a late worker may commit",
		file: "task/run.go",
		old:  "m.task(r).Lease.Token != token",
		new:  "false",
	},
	{
		name: "a command sent again is done again",
		file: "task/origin.go",
		old:  "case kept != nil:\n\t\treturn *kept, true",
		new:  "case kept != nil && m == nil:\n\t\treturn *kept, true",
	},
}

// plantedFor is how long a bug may stay hidden. On a quiet machine the bugs show within seconds.
const plantedFor = 10 * time.Minute

func TestPlantedBugs(t *testing.T) {
	needsProcesses(t)
	if !*plant {
		t.Skip("without -linear.planted: takes minutes (make linear)")
	}
	for _, bug := range planted {
		t.Run(strings.ReplaceAll(bug.name, " ", "-"), func(t *testing.T) {
			c := startCluster(t, buildBinary(t, "-overlay", overlay(t, bug.file, bug.old, bug.new)))
			sum, violation := run(t, c, *seed, plantedFor)
			if violation == nil {
				t.Fatalf("not found in %d operations of %d histories", sum.ops, sum.cells)
			}
			t.Logf("found after %d operations: %v", sum.ops, violation)
		})
	}
}

// overlay writes the overlay file of a build. In this build one text of a source file is replaced by another.
func overlay(t *testing.T, file, old, new string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", file))
	if err != nil {
		t.Fatal(err)
	}
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(src), old); n != 1 {
		t.Fatalf("%s: %q occurs %d times, want once", file, old, n)
	}
	dir := t.TempDir()
	changed := filepath.Join(dir, filepath.Base(file))
	if err := os.WriteFile(changed, []byte(strings.Replace(string(src), old, new, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(name, replace, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
