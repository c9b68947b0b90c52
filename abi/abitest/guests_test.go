package abitest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime/manifest"
	"github.com/taskrt/taskrt/runtime/wasmbin"
)

var guests = filepath.Join("..", "..", "testdata", "wasm")

// TestReadmeShowsEcho: the example in the specification is the guest that the tests run.
func TestReadmeShowsEcho(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(guests, "echo.wat"))
	if err != nil {
		t.Fatal(err)
	}
	_, module, ok := strings.Cut(string(source), "\n") // without the comment before it
	if !ok || !strings.Contains(string(readme), "```wat\n"+module+"```") {
		t.Error("abi/README.md does not show testdata/wasm/echo.wat")
	}
}

// TestReadmeManifest: the manifest in the specification is accepted as it stands.
func TestReadmeManifest(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(readme), "```json\n")
	text, _, _ := strings.Cut(blocks[len(blocks)-1], "```")
	m, err := manifest.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if s := m.Settings(0); s.Name != "wordcount" || !s.ResultRequired {
		t.Errorf("got %+v", s)
	}
}

// TestCommittedGuests: every committed NAME.wasm is the one in SHA256SUMS; a hand-written one holds behavior NAME.
func TestCommittedGuests(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(guests, "*.wasm"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	sums, err := os.ReadFile(filepath.Join(guests, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(sums, []byte("\n")); n != len(files) {
		t.Errorf("SHA256SUMS has %d lines for %d files", n, len(files))
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		base := filepath.Base(file)
		if line := fmt.Sprintf("%x  %s\n", sha256.Sum256(data), base); !bytes.Contains(sums, []byte(line)) {
			t.Errorf("SHA256SUMS does not have %s", line)
		}
		if _, err := os.Stat(strings.TrimSuffix(file, ".wasm") + ".wat"); err != nil {
			continue // not hand-written: describes itself
		}
		m, err := wasmbin.Parse(data)
		if err != nil {
			t.Errorf("%s: %v", base, err)
			continue
		}
		var found struct{ Behaviors []struct{ Name string } }
		for _, section := range m.Custom(abi.SectionManifest) {
			if err := json.Unmarshal(section, &found); err != nil {
				t.Errorf("%s: %v", base, err)
			}
		}
		name := strings.TrimSuffix(base, ".wasm") // of the first behavior; others begin with it
		if len(found.Behaviors) == 0 || found.Behaviors[0].Name != name {
			t.Errorf("%s holds behaviors %v", base, found.Behaviors)
		}
		for i, b := range found.Behaviors {
			if i > 0 && !strings.HasPrefix(b.Name, name+"-") {
				t.Errorf("%s holds behaviors %v", base, found.Behaviors)
			}
		}
	}
}
