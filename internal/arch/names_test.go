package arch_test

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// hollow are names of files that say when or how a file came to be, or nothing: a file is named by the idea in it.
var hollow = regexp.MustCompile(`^(?:new|old)|(?:more|\d)$|(?:^|_)(?:misc|utils?|helpers?|common|managers?|fast|quick|legacy|tmp|rest|stuff)(?:_|$)|(?:utils?|helpers?|fast|quick|stuff)$`)

// meantNames are names of files that only look so.
var meantNames = exceptions{
	"new":               "the command `taskrt new`",
	"newassemblyscript": "what `taskrt new` makes in AssemblyScript",
	"newc":              "what `taskrt new` makes in C",
	"newrust":           "what `taskrt new` makes in Rust",
}

// builtFor are the ends of names by which Go picks files for a system.
var builtFor = regexp.MustCompile(`_(?:linux|other|wasip1|wasm|amd64|arm64)$`)

// namedAfter returns what a file is named after: its base name without what tools read of it.
func namedAfter(name string) string {
	base := strings.TrimSuffix(path.Base(name), path.Ext(name))
	return builtFor.ReplaceAllString(strings.TrimSuffix(base, "_test"), "")
}

// TestNoFileIsNamedByHistory: no file is called "more", "2", "new", "util" or "fast".
func TestNoFileIsNamedByHistory(t *testing.T) {
	t.Parallel()
	seen, files := used{}, 0
	walk(t, "", func(name string) {
		if strings.Contains(name, "testdata/") || !slices.Contains([]string{".go", ".c", ".h", ".rs", ".ts", ".py", ".sh", ".md", ".wat"}, path.Ext(name)) {
			return
		}
		files++
		if base := namedAfter(name); hollow.MatchString(base) && !seen.allows(t, meantNames, base) {
			t.Errorf("%s: %q says when or how the file came to be: name it by the idea in it", name, base)
		}
		for _, dir := range strings.Split(path.Dir(name), "/") {
			if hollow.MatchString(dir) {
				t.Errorf("%s: a directory %q says nothing of what is in it", name, dir)
			}
		}
	})
	if files < 800 {
		t.Errorf("only %d files found: the search is broken", files)
	}
	seen.complain(t, meantNames)
}

func TestHollowNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"a/readmore.go": true, "a/read2.go": true, "a/read2_test.go": true, "a/newread.go": true, "a/old_linux.go": true, "a/util.go": true, "a/string_utils.c": true,
		"a/fast.go": true, "a/scanquick_test.go": true, "a/helpers_test.go": true, "a/common_other.go": true,
		"a/renew.go": false, "a/guest_wasip1.go": false, "a/told_test.go": false, "a/restore.go": false, "a/utility.go": false, "a/moreover.go": false, "a/breakpoint.go": false,
	} {
		if got := hollow.MatchString(namedAfter(name)); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
