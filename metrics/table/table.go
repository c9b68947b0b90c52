// Package table lists every metric that nodes and workers have (SPEC C6): its name, its type, its labels and what it means.
//
// It is the one place where a metric is described. Package metrics makes its metrics of it, docs/metrics.md its tables, and the dashboards
// and the alert rules of `taskrt observe` are checked against it. It knows no library of Prometheus.
package table

import (
	"fmt"
	"regexp"
	"strings"
)

// Kind is the type of a metric, in Prometheus' words.
type Kind string

// The kinds.
const (
	Counter   Kind = "counter"
	Gauge     Kind = "gauge"
	Histogram Kind = "histogram"
)

// Metric describes one metric.
type Metric struct {
	Name   string
	Kind   Kind
	Labels []string
	// Leader says that only the leader has it: the others would tell the same, later.
	Leader bool
	// Doc says what it means: Markdown that stands in a cell of a table, and that begins in lower case.
	Doc string
}

var link = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// Help is Doc as a scrape has it: a sentence without marks.
func (m Metric) Help() string {
	text := strings.ReplaceAll(link.ReplaceAllString(m.Doc, "$1"), "`", "")
	text = strings.ToUpper(text[:1]) + text[1:]
	if m.Leader {
		text += "; on the leader"
	}
	return text + "."
}

// Section is a group of metrics that the same processes have.
type Section struct {
	Name    string // by which docs/metrics.md names the place of its table
	Metrics []Metric
}

// Sections returns all metrics, in the order in which people read them.
func Sections() []Section {
	return []Section{
		{"attempts", attempts()},
		{"guests", guests()},
		{"tasks", tasks()},
		{"nodes", nodes()},
	}
}

// All returns all metrics by name.
func All() map[string]Metric {
	all := map[string]Metric{}
	for _, s := range Sections() {
		for _, m := range s.Metrics {
			all[m.Name] = m
		}
	}
	return all
}

// Markdown is the table of a section in docs/metrics.md.
func (s Section) Markdown() string {
	var b strings.Builder
	b.WriteString("| metric | type | labels | |\n|---|---|---|---|\n")
	for _, m := range s.Metrics {
		labels, doc := " ", m.Doc
		if len(m.Labels) > 0 {
			labels = " `" + strings.Join(m.Labels, "`, `") + "` "
		}
		if m.Leader {
			doc = "*leader*: " + doc
		}
		fmt.Fprintf(&b, "| `%s` | %s |%s| %s |\n", m.Name, m.Kind, labels, doc)
	}
	return b.String()
}
