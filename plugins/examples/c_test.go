package examples_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/taskrt/taskrt/abi/abitest"
	"github.com/taskrt/taskrt/internal/ctool"
	"github.com/taskrt/taskrt/internal/leash"
	"github.com/taskrt/taskrt/plugins/plugintest"
)

// TestCConformance builds the conformance guest in C from source and lets the suite of the ABI judge it: the proof of the C SDK.
func TestCConformance(t *testing.T) {
	t.Parallel()
	abitest.Run(t, ctool.Build(t, "conformance-c/main.c"))
}

// TestCWordcount compares the example in C with the one in Go.
func TestCWordcount(t *testing.T) {
	slow(t)
	t.Parallel()
	m := plugintest.New(t, plugintest.Config{Wasm: ctool.Build(t, "wordcount-c/main.c")})
	sameWordcount(t, m)
	t.Run("words in order", func(t *testing.T) { // the worst for a tree that is not balanced
		var text strings.Builder
		for i := range 50_000 {
			fmt.Fprintf(&text, "%06d ", i)
		}
		r := m.Run(t, "wordcount", &plugintest.Host{Params: []byte(`{"text":"` + text.String() + `"}`)})
		r.WantKind(t, plugintest.Succeeded)
		if r.Fuel > 1_000_000_000 {
			t.Errorf("%d units of fuel", r.Fuel)
		}
	})
}

// TestCLetters: the table of the example in C is Go's.
func TestCLetters(t *testing.T) {
	wantLetters(t, "wordcount-c/letters.h", cLetters())
}

func cLetters() string {
	var b strings.Builder
	fmt.Fprintf(&b, "/* The letters and digits of Unicode %s. Written by `go test ./plugins/examples -run TestCLetters -rewrite`. */\n", unicode.Version)
	b.WriteString(`#ifndef LETTERS_H
#define LETTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static const struct {
  uint32_t first, last;
} letters[] = {`)
	for i, r := range letterRanges() {
		if i%8 == 0 {
			b.WriteString("\n   ")
		}
		fmt.Fprintf(&b, " {0x%x, 0x%x},", r[0], r[1])
	}
	b.WriteString(`
};

/* Whether a character is of the category L (letter) or Nd (decimal digit). */
static inline bool is_letter_or_digit(uint32_t c) {
  size_t low = 0, high = sizeof letters / sizeof *letters; /* the range that ends at c or behind it */
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (letters[middle].last < c) low = middle + 1;
    else high = middle;
  }
  return low < sizeof letters / sizeof *letters && letters[low].first <= c;
}

#endif
`)
	return b.String()
}

// TestCMakefiles: the examples build by themselves.
func TestCMakefiles(t *testing.T) {
	t.Parallel()
	clang := ctool.Clang(t)
	root := t.TempDir()
	for _, dir := range []string{"examples/wordcount-c", "examples/csv-to-json", "examples/http-check", "sdk/c"} {
		if err := os.CopyFS(filepath.Join(root, dir), os.DirFS(filepath.Join("..", dir))); err != nil {
			t.Fatal(err)
		}
	}
	for dir, module := range map[string]string{"wordcount-c": "wordcount", "csv-to-json": "csv-to-json", "http-check": "http-check"} {
		cmd := leash.CommandContext(t.Context(), "make", "-B", "CLANG="+clang)
		cmd.Dir = filepath.Join(root, "examples", dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("make in %s: %v\n%s", dir, err, out)
		}
		plugintest.Load(t, filepath.Join(cmd.Dir, module+".wasm"))
	}
}

// TestCInTheDocs builds the plugins that the documentation shows.
func TestCInTheDocs(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"../sdk/c/README.md", "../../docs/plugin-languages.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		_, plugin, found := strings.Cut(string(text), "```c\n#define TASKRT_IMPLEMENTATION")
		plugin, _, closed := strings.Cut(plugin, "```\n")
		if !found || !closed {
			t.Fatalf("%s shows no plugin in C", page)
		}
		source := filepath.Join(t.TempDir(), "greet.c")
		if err := os.WriteFile(source, []byte("#define TASKRT_IMPLEMENTATION"+plugin), 0o600); err != nil {
			t.Fatal(err)
		}
		m := plugintest.New(t, plugintest.Config{Wasm: ctool.Build(t, source)})
		h := &plugintest.Host{Params: []byte(`{"name":"Ada"}`)}
		m.Run(t, "greet", h).WantResult(t, `{"greeting":"Hello, Ada!"}`)
		if len(h.Logs) != 1 || h.Logs[0].Message != "greeting Ada" {
			t.Errorf("%s: the log is %v", page, h.Logs)
		}
		long := strings.Repeat("ä", 300)
		m.Run(t, "greet", &plugintest.Host{Params: []byte(`{"name":"` + long + `"}`)}).WantResult(t, `{"greeting":"Hello, `+long+`!"}`)
		m.Run(t, "greet", &plugintest.Host{Params: []byte(`{}`)}).WantError(t, "no_name", false)
	}
}
