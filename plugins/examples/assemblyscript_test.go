package examples_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/taskrt/taskrt/abi/abitest"
	"github.com/taskrt/taskrt/internal/astool"
	"github.com/taskrt/taskrt/plugins/plugintest"
)

// TestAssemblyScriptConformance builds the conformance guest in AssemblyScript from source and lets the suite of the ABI judge it:
// the proof of the AssemblyScript SDK.
func TestAssemblyScriptConformance(t *testing.T) {
	slow(t)
	t.Parallel()
	abitest.Run(t, astool.Build(t, "conformance-as"))
}

// TestAssemblyScriptWordcount compares the example in AssemblyScript with the one in Go.
func TestAssemblyScriptWordcount(t *testing.T) {
	slow(t)
	t.Parallel()
	m := plugintest.New(t, plugintest.Config{Wasm: astool.Build(t, "wordcount-as")})
	sameWordcount(t, m)
	t.Run("as much as its README says", func(t *testing.T) {
		params := `{"text":"` + strings.Repeat("a b ", 8<<18) + `"}`
		m.Run(t, "wordcount", &plugintest.Host{Params: []byte(params)}).WantResult(t, `{"words":{"a":2097152,"b":2097152},"total":4194304}`)
	})
}

// TestAssemblyScriptInTheDocs builds the plugins that the documentation shows.
func TestAssemblyScriptInTheDocs(t *testing.T) {
	slow(t)
	t.Parallel()
	config, err := os.ReadFile("wordcount-as/asconfig.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range []string{"../sdk/assemblyscript/README.md", "../../docs/plugin-languages.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		_, plugin, found := strings.Cut(string(text), "```ts\n")
		plugin, _, closed := strings.Cut(plugin, "```\n")
		if !found || !closed {
			t.Fatalf("%s shows no plugin in AssemblyScript", page)
		}
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "assembly"), 0o700); err != nil {
			t.Fatal(err)
		}
		for name, content := range map[string]string{"asconfig.json": string(config), "assembly/index.ts": plugin} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		m := plugintest.New(t, plugintest.Config{Wasm: astool.Build(t, dir)})
		h := &plugintest.Host{Params: []byte(`{"name":"Ada"}`)}
		m.Run(t, "greet", h).WantResult(t, `{"greeting":"Hello, Ada!"}`)
		if len(h.Logs) != 1 || h.Logs[0].Message != "greeting Ada" {
			t.Errorf("%s: the log is %v", page, h.Logs)
		}
		m.Run(t, "greet", &plugintest.Host{Params: []byte(`{}`)}).WantError(t, "bad_params", false)
		m.Run(t, "greet", &plugintest.Host{Params: []byte(`{"name":""}`)}).WantError(t, "no_name", false)
	}
}

// TestAssemblyScriptLetters: the table of the example in AssemblyScript is Go's.
func TestAssemblyScriptLetters(t *testing.T) {
	wantLetters(t, "wordcount-as/assembly/letters.ts", assemblyScriptLetters())
}

func assemblyScriptLetters() string {
	var b strings.Builder
	fmt.Fprintf(&b, "// The letters and digits of Unicode %s. Written by `go test ./plugins/examples -run TestAssemblyScriptLetters -rewrite`.\n\n", unicode.Version)
	b.WriteString(`/** Whether a character is of the category L (letter) or Nd (decimal digit). */
export function isLetterOrDigit(c: i32): bool {
  let low = 0; // the range that ends at c or behind it
  let high = RANGES.length / 2;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (RANGES[2 * middle + 1] < c) low = middle + 1;
    else high = middle;
  }
  return low < RANGES.length / 2 && RANGES[2 * low] <= c;
}

/** First and last of each range. */
const RANGES: StaticArray<i32> = [`)
	for i, r := range letterRanges() {
		if i%8 == 0 {
			b.WriteString("\n ")
		}
		fmt.Fprintf(&b, " 0x%x, 0x%x,", r[0], r[1])
	}
	b.WriteString("\n];\n")
	return b.String()
}
