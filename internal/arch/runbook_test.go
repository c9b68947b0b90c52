package arch_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRunbookMessages: docs/operate.md is found by what one sees. So each message on a "Seen:" line is in the product's code.
func TestRunbookMessages(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root(t), "docs", "operate.md"))
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{}
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "Seen:") {
			for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(line, -1) {
				missing[strings.TrimSuffix(m[1], "_sum")] = true // a histogram's
			}
		}
	}
	if len(missing) < 20 {
		t.Errorf("the page names %d messages: are they still on lines that begin with Seen: ?", len(missing))
	}
	walk(t, ".go", func(name string) {
		if strings.HasSuffix(name, "_test.go") {
			return
		}
		code, err := os.ReadFile(filepath.Join(root(t), name))
		if err != nil {
			t.Fatal(err)
		}
		for text := range missing { // order-free: each by itself
			if strings.Contains(string(code), text) {
				delete(missing, text)
			}
		}
	})
	for text := range missing { // order-free: each is an error of its own
		t.Errorf("nothing in the product says %q", text)
	}
}
