package site

import (
	"bytes"
	"encoding/json"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/docs"
)

var (
	address = regexp.MustCompile(`\s(?:href|src|action)="([^"]*)"`)
	marked  = regexp.MustCompile(`\sid="([^"]*)"`)
	within  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
)

func rendered(t *testing.T, c Config) map[string][]byte {
	t.Helper()
	files, err := Render(c)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// pagesOf returns the HTML of the site's pages.
func pagesOf(files map[string][]byte) map[string]string {
	pages := map[string]string{}
	for name, b := range files {
		if strings.HasSuffix(name, pageEnd) {
			pages[name] = string(b)
		}
	}
	return pages
}

// TestDeadLinks: every address of every page leads to a file of the site, to an anchor that is there, or to a file that the repository has
// (SPEC U4). Nothing of the site is loaded from elsewhere.
func TestDeadLinks(t *testing.T) {
	t.Parallel()
	files := rendered(t, Config{Version: "1.2.3"})
	pages := pagesOf(files)
	anchors := map[string]map[string]bool{}
	for name, page := range pages {
		anchors[name] = map[string]bool{}
		for _, m := range marked.FindAllStringSubmatch(page, -1) {
			if id := html.UnescapeString(m[1]); anchors[name][id] {
				t.Errorf("%s has #%s twice", name, id)
			} else {
				anchors[name][id] = true
			}
		}
	}
	links, elsewhere := 0, 0
	for name, page := range pages {
		for _, m := range address.FindAllStringSubmatch(page, -1) {
			links++
			to := html.UnescapeString(m[1])
			if file, ok := strings.CutPrefix(to, repository); ok {
				elsewhere++
				file, _, _ = strings.Cut(file, "#")
				if _, err := os.Stat(filepath.Join("..", "..", filepath.FromSlash(file))); err != nil {
					t.Errorf("%s: %s: %v", name, to, err)
				}
				continue
			}
			if strings.Contains(to, "://") {
				if !strings.HasPrefix(m[0], " href=") {
					t.Errorf("%s loads %s", name, to)
				}
				continue
			}
			file, at, _ := strings.Cut(to, "#")
			if file == "" {
				file = name
			}
			if files[file] == nil || at != "" && !anchors[file][at] {
				t.Errorf("%s: %s leads nowhere", name, to)
			}
		}
	}
	if links < 1000 || elsewhere < 20 {
		t.Errorf("only %d links found, %d of them to the repository: the search is broken", links, elsewhere)
	}
}

// TestStrict: the policy has nothing to refuse, and each page says what it is.
func TestStrict(t *testing.T) {
	t.Parallel()
	inline := regexp.MustCompile(`(?i)<[^>]*\sstyle=|<[^>]*\son[a-z]+=|<script>|<style|javascript:|<iframe|raw HTML omitted`)
	for name, page := range pagesOf(rendered(t, Config{Console: true})) {
		if found := inline.FindString(page); found != "" {
			t.Errorf("%s: %q", name, found)
		}
		for _, part := range []string{"<h1", `<html lang="en">`, "<title>", `<main id="content"`, `action="search.html"`, `<a href="../">Console</a>`} {
			if strings.Count(page, part) != 1 {
				t.Errorf("%s has %s %d times", name, part, strings.Count(page, part))
			}
		}
		if current := strings.Count(page, `aria-current="page"`); current > 1 || current == 0 && name != "index.html" && name != "search.html" {
			t.Errorf("%s is %d times in the menu", name, current)
		}
	}
}

// TestErrors: each code of a problem has a section, to which the type of the problem points, here as on the web (SPEC U3, U4).
func TestErrors(t *testing.T) {
	t.Parallel()
	page := string(rendered(t, Config{})["errors.html"])
	for _, code := range []string{api.CodeNoLeader, api.CodeForbidden, api.CodeUnknownHost, api.CodeCrossOrigin} {
		_, at, _ := strings.Cut(api.TypeOf(code), "#")
		if at == "" || !strings.Contains(page, ` id="`+at+`"`) {
			t.Errorf("no section for %s: #%s", code, at)
		}
	}
}

// TestIndex: the search knows every heading, and the text of every page.
func TestIndex(t *testing.T) {
	t.Parallel()
	files := rendered(t, Config{})
	list, ok := bytes.CutPrefix(bytes.TrimSuffix(files[indexFile], []byte(";\n")), []byte("globalThis.searchIndex = "))
	var entries [][5]string
	if err := json.Unmarshal(list, &entries); err != nil || !ok {
		t.Fatalf("%v: %.80s", err, files[indexFile])
	}
	known, texts := map[string]bool{}, map[string]int{}
	for _, e := range entries {
		known[e[0]+"#"+e[2]] = true
		texts[e[0]] += len(e[4])
	}
	for name, page := range pagesOf(files) {
		if name == "index.html" || name == "search.html" {
			continue
		}
		for _, m := range regexp.MustCompile(`<h[2-6] id="([^"]+)"`).FindAllStringSubmatch(page, -1) {
			if !known[name+"#"+html.UnescapeString(m[1])] {
				t.Errorf("the search does not know %s#%s", name, m[1])
			}
		}
		if source := len(files[strings.TrimSuffix(name, pageEnd)+sourceEnd]); !known[name+"#"] || texts[name] < source/2 {
			t.Errorf("the search knows %d bytes of %s, which has %d", texts[name], name, source)
		}
	}
}

// TestLists: llms.txt has the title, a summary, and each page with a line, as Markdown, wherever it is served (SPEC U4).
func TestLists(t *testing.T) {
	t.Parallel()
	files := rendered(t, Config{})
	b, err := readBook(docs.Pages)
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{"", "docs/"} {
		list := string(b.llms(to))
		if !strings.HasPrefix(list, "# taskrt\n\n> taskrt runs ") {
			t.Errorf("%.200s", list)
		}
		found := 0
		for _, m := range within.FindAllStringSubmatch(list, -1) {
			if file, ok := strings.CutPrefix(m[1], to); ok && !strings.Contains(file, "://") {
				found++
				if files[file] == nil {
					t.Errorf("%s leads nowhere", m[1])
				}
			}
		}
		if found != len(b.pages) { // all but the home page, and the file of all
			t.Errorf("%d files in the list, of %d pages", found, len(b.pages))
		}
	}
	for _, p := range b.pages[1:] {
		if p.Line == "" || p.Group == "" || !bytes.Contains(files[fullFile], bytes.TrimSpace(p.source)) {
			t.Errorf("%s: line %q, group %q, or it is not in %s", p.Name, p.Line, p.Group, fullFile)
		}
	}
}

// TestBook: a page that the list forgets, or has twice, is found; so is what a page must not have.
func TestBook(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ list, page, want string }{
		{"# T\n\nS.\n\n## A\n\n- [B](b.md): c.\n", "# B\n\ntext\n", ""},
		{"# T\n\n## A\n\n- [B](b.md): c.\n- [B](b.md): d.\n", "# B\n", "2 times"},
		{"# T\n\n## A\n\n- [B](../b.md): c.\n", "# B\n", "0 times"},
		{"# T\n\n- [B](b.md): c.\n", "# B\n", "before the first group"},
		{"# T\n\n## A\n\n- B\n", "# B\n", "no link"},
		{"# T\n\n## A\n\n- [B](b.md): c.\n", "B\n", "text before the title"},
		{"# T\n\n## A\n\n- [B](b.md): c.\n", "", "no title"},
		{"# T\n\n## A\n\n- [B](b.md): c.\n", "# B\n\na <b>c</b>\n", "HTML in the text"},
		{"# T\n\n## A\n\n- [B](b.md): c.\n", "# B\n\n<div>c</div>\n", "no comment"},
		{"# T\n\n## A\n\n- [B](b.md): c.\n", "# B\n\n> ## c\n", "in a list or a quotation"},
	} {
		_, err := readBook(fstest.MapFS{"README.md": {Data: []byte(c.list)}, "b.md": {Data: []byte(c.page)}})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q, %q: %v, not %q", c.list, c.page, err, c.want)
		}
	}
}

// TestPage: Markdown becomes what GitHub makes of it: anchors, tables, links; and a text for the search.
func TestPage(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{"p.md": {Data: []byte("# The `task` page\n\n<!-- no -->\n\n## What, why?\n\nSee [a *page*](b.md#x), [list](README.md), [file](../go.mod), <https://x.example>.\n\n## What, why?\n\n" +
		"| a | |\n|--:|---|\n| `x\\_y` | 1 \\* 2 |\n\n```sh\nls <a> # not a heading\n```\n")}}
	p, err := readPage(tree, "p")
	if err != nil {
		t.Fatal(err)
	}
	body := string(p.Body)
	for _, part := range []string{
		`<h1 id="the-task-page">The <code>task</code> page</h1>`, `<h2 id="what-why">`, `<h2 id="what-why-1">`, `<a href="b.html#x">a <em>page</em></a>`, `<a href="index.html">`,
		`<a href="` + repository + `go.mod" class="away">`, `<th class="right">a</th>`, "<td></td>\n</tr>\n</thead>", `<div class="table" tabindex="0"><table>`, "ls &lt;a&gt; # not a heading",
	} {
		if !strings.Contains(body, part) {
			t.Errorf("%s is not in\n%s", part, body)
		}
	}
	if p.Title != "The task page" || len(p.Contents) != 2 || strings.Contains(body, "<!--") {
		t.Errorf("%q, %v", p.Title, p.Contents)
	}
	if got := p.sections[2].text; got != `a x\_y 1 * 2 ls <a> # not a heading ` {
		t.Errorf("%q", got)
	}
}
