package arch_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/internal/anchor"
)

var (
	link    = regexp.MustCompile(`!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)`)
	refLink = regexp.MustCompile(`(?m)^\s{0,3}\[[^\]]+\]:\s*(\S+)`)
	fence   = regexp.MustCompile("(?ms)^[ \t]*(```|~~~).*?^[ \t]*(```|~~~)[ \t]*$")
	code    = regexp.MustCompile("`[^`\n]*`")
	heading = regexp.MustCompile(`(?m)^#{1,6}\s+(.*?)\s*#*\s*$`)
)

// TestLinks: every link between files of the repository leads to a file, and to a heading if it names one.
func TestLinks(t *testing.T) {
	t.Parallel()
	base := root(t)
	links := 0
	walk(t, ".md", func(name string) {
		text := read(t, filepath.Join(base, name))
		text = code.ReplaceAllString(fence.ReplaceAllString(text, ""), "")
		for _, m := range append(link.FindAllStringSubmatch(text, -1), refLink.FindAllStringSubmatch(text, -1)...) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			links++
			to := path.Join(path.Dir(name), target)
			if target == "" {
				to = name
			}
			if strings.HasPrefix(to, "..") || strings.HasPrefix(target, "/") {
				t.Errorf("%s: %s leads out of the repository", name, m[1])
				continue
			}
			if _, err := os.Stat(filepath.Join(base, to)); err != nil {
				t.Errorf("%s: %s leads nowhere", name, m[1])
				continue
			}
			if anchor != "" && strings.HasSuffix(to, ".md") && !anchors(read(t, filepath.Join(base, to)))[anchor] {
				t.Errorf("%s: %s has no heading #%s", name, to, anchor)
			}
		}
	})
	if links < 5 {
		t.Errorf("only %d links found: the search is broken", links)
	}
}

// TestListedPages: docs/README.md lists each page of the documentation once, as the site wants it (SPEC U4).
func TestListedPages(t *testing.T) {
	t.Parallel()
	base := root(t)
	list := read(t, filepath.Join(base, "docs", "README.md"))
	pages, err := filepath.Glob(filepath.Join(base, "docs", "*.md"))
	if err != nil || len(pages) < 20 {
		t.Fatal(pages, err)
	}
	for _, p := range pages {
		name := filepath.Base(p)
		if n := strings.Count(list, "]("+name+"): "); n != 1 && name != "README.md" {
			t.Errorf("docs/README.md lists %s %d times, not once: `- [NAME](%s): what it is for.`", name, n, name)
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// anchors returns the anchors of a document's headings as GitHub makes them.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		title := link.ReplaceAllStringFunc(m[1], func(s string) string { return s[strings.Index(s, "[")+1 : strings.Index(s, "]")] })
		found[anchor.Of(title)] = true
	}
	return found
}

func TestAnchors(t *testing.T) {
	t.Parallel()
	got := anchors("# The `task` package: what, why?\n\n## [A link](x.md) here\n```\n# not this\n```\n")
	for _, want := range []string{"the-task-package-what-why", "a-link-here"} {
		if !got[want] {
			t.Errorf("%v lacks %q", got, want)
		}
	}
	if len(got) != 2 {
		t.Errorf("%v", got)
	}
}
