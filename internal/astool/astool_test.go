package astool

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// TestPins: plugins are built by the compiler that the SDK is tested with.
func TestPins(t *testing.T) {
	const root = "../.."
	sdk := pins(t, filepath.Join(root, "plugins/sdk/assemblyscript/package-lock.json"))
	if sdk["node_modules/assemblyscript"] == "" || len(sdk) != 3 {
		t.Fatalf("the SDK's lock file has %v", sdk)
	}
	files, err := filepath.Glob(filepath.Join(root, "plugins/examples/*/package-lock.json"))
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	for _, file := range append(files, filepath.Join(root, "cmd/taskrt/internal/scaffold/templates/assemblyscript/package-lock.json.tmpl")) {
		got := pins(t, file)
		for name, integrity := range sdk {
			if got[name] != integrity {
				t.Errorf("%s pins %s to %q, want %q", file, name, got[name], integrity)
			}
		}
		if len(got) != len(sdk) {
			t.Errorf("%s has %v", file, got)
		}
	}
}

// pins are the packages that a lock file has fetched, with the digests that they must have.
func pins(t *testing.T, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Packages map[string]struct{ Integrity string }
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	fetched := map[string]string{}
	for name, p := range lock.Packages {
		if p.Integrity != "" {
			fetched[name] = p.Integrity
		}
	}
	return fetched
}
