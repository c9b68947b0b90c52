package meter

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/taskrt/taskrt/internal/leash"
	"github.com/taskrt/taskrt/runtime/wasmbin"
)

// features are what the node's runtime takes at most.
const features = api.CoreFeaturesV2 | experimental.CoreFeaturesTailCall | experimental.CoreFeaturesExtendedConst

// wazeroDir returns where the module cache has the source of wazero. Its tests come with thousands of modules.
var wazeroDir = sync.OnceValues(func() (string, error) {
	out, err := leash.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	dir := strings.TrimSpace(string(out))
	if err == nil && dir == "" {
		err = errors.New("not in the module cache")
	}
	return dir, err
})

// sourceOf returns wazero's source, or skips.
func sourceOf(t testing.TB) string {
	t.Helper()
	dir, err := wazeroDir()
	if err != nil {
		t.Skip("NOTHING IS TESTED: no source of wazero:", err)
	}
	return dir
}

// interpreter makes a runtime that only validates: it compiles in no time.
func interpreter(t testing.TB) wazero.Runtime {
	rt := wazero.NewRuntimeWithConfig(context.Background(), wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(features))
	t.Cleanup(func() { rt.Close(context.Background()) })
	return rt
}

// valid reports whether wazero takes a module. It is not asked twice for the same one.
func valid(rt wazero.Runtime, wasm []byte) error {
	m, err := rt.CompileModule(context.Background(), wasm)
	if err == nil {
		err = m.Close(context.Background())
	}
	return err
}

// TestCorpus rewrites every module that comes with wazero: what wazero takes, it still takes, or it is refused for a
// feature that it must not have.
func TestCorpus(t *testing.T) {
	t.Parallel()
	rt := interpreter(t)
	var rewritten, refused, invalid int
	err := filepath.WalkDir(sourceOf(t), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".wasm") {
			return err
		}
		wasm, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		m, err := Rewrite(wasm)
		var bad *wasmbin.Error
		switch {
		case err != nil && !errors.As(err, &bad):
			t.Errorf("%s: error is %T: %v", path, err, err)
		case err != nil && valid(rt, wasm) != nil, err == nil && valid(rt, wasm) != nil:
			invalid++
		case err != nil:
			if refused++; bad.Reason != wasmbin.Unsupported && bad.Reason != wasmbin.TooMany {
				t.Errorf("%s is valid, but refused: %v", path, err)
			}
		default:
			if rewritten++; valid(rt, m.Wasm) != nil {
				t.Errorf("%s: rewritten: %v", path, valid(rt, m.Wasm))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d rewritten, %d refused, %d not valid before", rewritten, refused, invalid)
	if rewritten < 2500 {
		t.Errorf("only %d modules were rewritten", rewritten)
	}
}

// TestCommitted rewrites this repository's own guests.
func TestCommitted(t *testing.T) {
	t.Parallel()
	rt := interpreter(t)
	for _, path := range committed(t) {
		wasm, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		m, err := Rewrite(wasm)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if err := valid(rt, m.Wasm); err != nil {
			t.Errorf("%s: rewritten: %v", path, err)
		}
		again, err := Rewrite(wasm)
		if err != nil || !bytes.Equal(m.Wasm, again.Wasm) {
			t.Errorf("%s: not deterministic", path)
		}
	}
}

// committed lists the guests in testdata and the examples.
func committed(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("../../testdata/wasm/*.wasm")
	if err != nil || len(files) == 0 {
		t.Fatal("no guests:", err)
	}
	examples, err := filepath.Glob("../../plugins/examples/*/*.wasm")
	if err != nil {
		t.Fatal(err)
	}
	return append(files, examples...)
}
