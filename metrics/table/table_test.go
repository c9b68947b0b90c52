package table

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write the tables of docs/metrics.md anew")

// TestPage: docs/metrics.md shows the table. What it shows is written by -rewrite alone.
func TestPage(t *testing.T) {
	const file, how = "../../docs/metrics.md", "go test ./metrics/table -run TestPage -rewrite"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	for _, s := range Sections() {
		begin := "<!-- metrics of " + s.Name + ": made by " + how + " -->\n"
		before, rest, opened := strings.Cut(text, begin)
		shown, after, closed := strings.Cut(rest, "<!-- end -->\n")
		if !opened || !closed {
			t.Errorf("the page has no place for the metrics of %s", s.Name)
			continue
		}
		text = before + begin + s.Markdown() + "<!-- end -->\n" + after
		if shown != s.Markdown() && !*rewrite {
			t.Errorf("the page shows other metrics of %s: %s", s.Name, how)
		}
	}
	if *rewrite && text != string(page) {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil { //nolint:gosec // a page that all may read
			t.Fatal(err)
		}
	}
}

// TestMetrics: each metric is described once, in words that fit the cells of a table and a line of a scrape.
func TestMetrics(t *testing.T) {
	n, all := 0, All()
	for _, s := range Sections() {
		for _, m := range s.Metrics {
			n++
			if !regexp.MustCompile(`^taskrt_[a-z_]+$`).MatchString(m.Name) || strings.HasSuffix(m.Name, "_total") != (m.Kind == Counter) {
				t.Errorf("%s is not the name of a %s", m.Name, m.Kind)
			}
			if m.Doc == "" || strings.ContainsAny(m.Doc, "|\n") || strings.HasSuffix(m.Doc, ".") {
				t.Errorf("%s: %q", m.Name, m.Doc)
			}
			if strings.ContainsAny(m.Help(), "`[]") {
				t.Errorf("the help of %s has marks: %s", m.Name, m.Help())
			}
		}
	}
	if len(all) != n {
		t.Errorf("%d metrics with %d names", n, len(all))
	}
	if got := all["taskrt_tasks_too_many_kept"].Help(); !strings.HasSuffix(got, "for the default times.") || !strings.HasPrefix(got, "Final tasks") {
		t.Errorf("help: %s", got)
	}
	if got := all["taskrt_queue_oldest_seconds"].Help(); !strings.HasSuffix(got, "; on the leader.") {
		t.Errorf("help of what the leader has: %s", got)
	}
}
