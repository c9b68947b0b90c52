package observe

import (
	"slices"
	"strings"

	"github.com/taskrt/taskrt/metrics/table"
)

// schemaVersion is of Grafana 10; later ones read it.
const schemaVersion = 38

// Dashboards returns all dashboards: what one looks at first, and then all metrics of the table.
func Dashboards() []*Dashboard {
	return []*Dashboard{overview(), behaviors(), nodes()}
}

func names() (all []string) {
	for _, d := range Dashboards() {
		all = append(all, d.name)
	}
	return all
}

func newDashboard(name, title, description string, vars ...variable) *Dashboard {
	return &Dashboard{
		name: name, UID: "taskrt-" + name, Title: "taskrt / " + title, Description: description, Tags: []string{"taskrt"}, Timezone: "browser",
		SchemaVersion: schemaVersion, Editable: true, GraphTooltip: 1, Refresh: "30s", Time: timeRange{"now-1h", "now"},
		Links: []dashLink{{"taskrt", "dashboards", []string{"taskrt"}, true, true}},
		Templating: templating{append([]variable{
			{Name: "datasource", Label: "Prometheus", Type: "datasource", Query: "prometheus"},
			label("cluster", "taskrt_build_info"),
		}, vars...)},
	}
}

// label is a variable with the values of a label of a metric. All values include none.
func label(name, metric string) variable {
	text := "label_values(" + metric + ", " + name + ")"
	return variable{
		Name: name, Label: name, Type: "query", Query: labelQuery{text, name}, Definition: text, Datasource: chosen,
		Refresh: 2, Sort: 1, Multi: true, IncludeAll: true, AllValue: ".*",
	}
}

const (
	ofCluster  = `cluster=~"$cluster"`
	ofInstance = ofCluster + `, instance=~"$instance"`
	ofBehavior = ofCluster + `, namespace=~"$namespace", behavior=~"$behavior"`
)

// behaviors shows everything that is told apart by behavior.
func behaviors() *Dashboard {
	d := newDashboard("behaviors", "behaviors", "What each behavior does: attempts, their time, fuel and memory, and what waits.",
		label("namespace", "taskrt_attempts_total"), label("behavior", "taskrt_attempts_total"))
	var l layout
	l.row("Tasks")
	for _, m := range ofSections("tasks", "attempts") {
		if slices.Contains(m.Labels, "behavior") {
			l.add(draw(m, ofBehavior))
		}
	}
	d.Panels = l.panels
	return d
}

// nodes shows everything else, process by process.
func nodes() *Dashboard {
	d := newDashboard("nodes", "nodes and workers", "Every metric that is not about a behavior, for each process.", label("instance", "taskrt_build_info"))
	var l layout
	for _, s := range []struct{ section, title string }{{"nodes", "Raft, disks, HTTP"}, {"tasks", "State"}, {"guests", "Modules and guests"}} {
		l.row(s.title)
		for _, m := range ofSections(s.section) {
			if !slices.Contains(m.Labels, "behavior") {
				l.add(draw(m, ofInstance))
			}
		}
	}
	d.Panels = l.panels
	return d
}

func ofSections(names ...string) (all []table.Metric) {
	for _, name := range names {
		for _, s := range table.Sections() {
			if s.Name == name {
				all = append(all, s.Metrics...)
			}
		}
	}
	return all
}

// draw makes a panel of a metric, by its kind, its unit and its labels.
func draw(m table.Metric, selector string) *panel {
	by := slices.Clone(m.Labels)
	if !slices.Contains(by, "behavior") {
		by = append([]string{"instance"}, by...)
	}
	legend := legendOf(by)
	p := &panel{Title: titleOf(m), Description: m.Help(), Type: "timeseries", FieldConfig: unit(unitOf(m))}
	list := strings.Join(by, ", ")
	switch m.Kind {
	case table.Counter:
		p.Targets = []query{{Expr: "sum by (" + list + ") (rate(" + m.Name + "{" + selector + "}[$__rate_interval]))", Legend: legend}}
	case table.Histogram:
		for _, q := range []struct{ of, name string }{{"0.5", "p50"}, {"0.99", "p99"}} {
			p.Targets = append(p.Targets, query{Expr: quantile(q.of, m.Name, selector, by...), Legend: q.name + " " + legend, Exemplar: true})
		}
	case table.Gauge:
		value := "max by (" + list + ") (" + m.Name + "{" + selector + "})"
		switch { // not the moment, but how far it is
		case strings.Contains(m.Name, "expiry_timestamp"):
			value += " - time()"
		case strings.Contains(m.Name, "clock_timestamp"):
			value = "max by (" + list + ") (" + m.Name + "{" + selector + "} - timestamp(" + m.Name + "{" + selector + "}))"
		case strings.Contains(m.Name, "_timestamp"):
			value = "time() - " + value
		}
		p.Targets = []query{{Expr: value, Legend: legend}}
	}
	return p
}

// quantile is the expression of a quantile of a histogram.
func quantile(of, metric, selector string, by ...string) string {
	return "histogram_quantile(" + of + ", sum by (" + strings.Join(append([]string{"le"}, by...), ", ") + ") (rate(" + metric + "_bucket{" + selector + "}[$__rate_interval])))"
}

func legendOf(labels []string) string {
	parts := make([]string, len(labels))
	for i, l := range labels {
		parts[i] = "{{" + l + "}}"
	}
	return strings.Join(parts, " ")
}

// titleOf is a metric's name in words.
func titleOf(m table.Metric) string {
	text := strings.TrimSuffix(strings.TrimPrefix(m.Name, "taskrt_"), "_total")
	if text = strings.ReplaceAll(strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(text, "_seconds"), "_bytes"), "_timestamp"), "_", " "); m.Kind == table.Counter {
		text += ", per second"
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// unitOf is Grafana's name of a metric's unit, as it is drawn.
func unitOf(m table.Metric) string {
	base := strings.TrimSuffix(m.Name, "_total")
	switch counts := m.Kind == table.Counter; {
	case counts && strings.HasSuffix(base, "_seconds"): // of a second
		return "percentunit"
	case counts && strings.HasSuffix(base, "_bytes"):
		return "Bps"
	case counts:
		return "cps"
	case strings.HasSuffix(base, "_seconds"):
		return "s"
	case strings.HasSuffix(base, "_bytes"):
		return "bytes"
	}
	return "short"
}

func unit(name string) *fieldConfig {
	return &fieldConfig{Defaults: fieldDefaults{Unit: name}, Overrides: []any{}}
}
