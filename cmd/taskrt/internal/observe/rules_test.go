package observe

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/internal/anchor"
	"github.com/taskrt/taskrt/metrics/table"
)

// everyTarget are the labels that Prometheus or the configuration of scrapes gives to everything.
var everyTarget = []string{"cluster", "instance", "job"}

// foreign are the metrics that are not taskrt's own, with their labels.
var foreign = map[string][]string{
	"up": nil, "process_start_time_seconds": nil, "process_open_fds": nil, "process_max_fds": nil, "ALERTS": {"alertname", "alertstate", "severity"},
}

var (
	metricNames  = regexp.MustCompile(`\b(taskrt_[a-z_]+|process_[a-z_]+|up|ALERTS)\b(\{[^}]*\})?`)
	selectorName = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)\s*"`)
	groupings    = regexp.MustCompile(`\b(?:by|on|without|ignoring|group_left|group_right)\s*\(([^)]*)\)`)
)

// named returns the metrics of an expression. It complains of those, and of labels, that the table does not have.
func named(complain func(string, ...any), where, expr string) (metrics []string) {
	all := table.All()
	known := slices.Clone(everyTarget)
	for _, m := range metricNames.FindAllStringSubmatch(expr, -1) {
		name := m[1]
		labels, ok := foreign[name]
		for _, suffix := range []string{"", "_bucket", "_sum", "_count"} {
			base, cut := strings.CutSuffix(name, suffix)
			of, listed := all[base]
			if !cut || !listed || (suffix != "") != (of.Kind == table.Histogram) {
				continue
			}
			name, labels, ok = base, of.Labels, true
			if suffix == "_bucket" {
				labels = append(slices.Clone(labels), "le")
			}
			break
		}
		if !ok {
			complain("%s: there is no metric %s of this kind in %s", where, name, expr)
		}
		metrics, known = append(metrics, name), append(known, labels...)
		for _, l := range selectorName.FindAllStringSubmatch(m[2], -1) {
			if !slices.Contains(labels, l[1]) && !slices.Contains(everyTarget, l[1]) {
				complain("%s: %s has no label %s", where, name, l[1])
			}
		}
	}
	for _, g := range groupings.FindAllStringSubmatch(expr, -1) {
		for _, l := range strings.FieldsFunc(g[1], func(r rune) bool { return r == ',' || r == ' ' }) {
			if !slices.Contains(known, l) {
				complain("%s: no metric of %s has the label %s", where, expr, l)
			}
		}
	}
	if len(metrics) == 0 {
		complain("%s: no metric in %s", where, expr)
	}
	return metrics
}

// TestNamedFindsWhatIsWrong: the check of expressions sees metrics and labels that are not there.
func TestNamedFindsWhatIsWrong(t *testing.T) {
	for _, expr := range []string{
		"taskrt_no_such_thing", `taskrt_attempts_total{worker="w1"}`, "sum by (module) (taskrt_attempts_total)", "taskrt_attempt_duration_seconds",
		"taskrt_raft_term_bucket", "sum by (le) (taskrt_raft_term)", "vector(1)",
	} {
		complaints := 0
		if named(func(string, ...any) { complaints++ }, "here", expr); complaints == 0 {
			t.Errorf("nothing is wrong with %s", expr)
		}
	}
}

// TestRules: each alert looks at what there is, says what it means, and has a section of the runbook that names it (SPEC U2).
func TestRules(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/operate.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := sectionsOf(string(page))
	seen := map[string]bool{}
	for _, g := range Groups() {
		for _, r := range g.Rules {
			named(t.Errorf, r.Alert, r.Expr)
			if seen[r.Alert] || !regexp.MustCompile(`^Taskrt([A-Z][a-z]+)+$`).MatchString(r.Alert) {
				t.Errorf("%s is no name of one alert", r.Alert)
			}
			seen[r.Alert] = true
			if !slices.Contains([]Severity{Critical, Warning, Info}, r.Severity) || r.Summary == "" || strings.HasSuffix(r.Summary, ".") || strings.Contains(r.Summary, "{{") {
				t.Errorf("%s: %s, %q", r.Alert, r.Severity, r.Summary)
			}
			if text, ok := sections[r.Section]; !ok || !strings.Contains(text, "`"+r.Alert+"`") {
				t.Errorf("docs/operate.md has no section %q whose line of what is seen names `%s`", r.Section, r.Alert)
			}
		}
	}
	for _, m := range regexp.MustCompile("`(Taskrt[A-Za-z]+)`").FindAllStringSubmatch(string(page), -1) {
		if !seen[m[1]] {
			t.Errorf("docs/operate.md names the alert %s, which is not there", m[1])
		}
	}
	if len(seen) < 30 {
		t.Errorf("only %d alerts", len(seen))
	}
}

// sectionsOf returns, for each heading, the line that says what is seen.
func sectionsOf(page string) map[string]string {
	all, at := map[string]string{}, ""
	for line := range strings.Lines(page) {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			at = strings.TrimSpace(heading)
			all[at] = ""
		} else if strings.HasPrefix(line, "Seen:") {
			all[at] = line
		}
	}
	return all
}

// TestRuleFile: the file has each alert with its severity, the labels that were asked for and the address of its section.
func TestRuleFile(t *testing.T) {
	f := rules(RuleSettings{Labels: map[string]string{"team": "jobs"}, Runbook: "https://wiki.example/operate", BackupAge: 3600})
	var found bool
	for _, g := range f.Groups {
		for _, r := range g.Rules {
			if r.Labels["team"] != "jobs" || r.Labels["severity"] == "" || !strings.HasPrefix(r.Annotations["runbook_url"], "https://wiki.example/operate#") {
				t.Errorf("%s: %v, %v", r.Alert, r.Labels, r.Annotations)
			}
			if strings.Contains(r.Expr, backupAge) {
				t.Errorf("%s: %s", r.Alert, r.Expr)
			}
			if r.Alert == "TaskrtBackupOld" {
				found = strings.HasSuffix(r.Expr, "> 3600") && r.Annotations["runbook_url"] == "https://wiki.example/operate#backups-fail"
			}
		}
	}
	if !found {
		t.Error("the age of backups is not the one that was asked for")
	}
}

// TestPage: docs/metrics.md lists the alerts. The list is written by -rewrite alone.
func TestPage(t *testing.T) {
	const file, how = "../../../../docs/metrics.md", "go test ./cmd/taskrt/internal/observe -run TestPage -rewrite"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	begin := "<!-- alerts: made by " + how + " -->\n"
	before, rest, opened := strings.Cut(string(page), begin)
	shown, after, closed := strings.Cut(rest, "<!-- end -->\n")
	if !opened || !closed {
		t.Fatal("the page has no place for the alerts")
	}
	want := listed()
	if *rewrite {
		if err := os.WriteFile(file, []byte(before+begin+want+"<!-- end -->\n"+after), 0o644); err != nil { //nolint:gosec // a page that all may read
			t.Fatal(err)
		}
	} else if shown != want {
		t.Errorf("the page lists other alerts: %s", how)
	}
}

// listed is the list of alerts of docs/metrics.md.
func listed() string {
	var b strings.Builder
	b.WriteString("| alert | severity | what it means |\n|---|---|---|\n")
	for _, g := range Groups() {
		for _, r := range g.Rules {
			b.WriteString("| [`" + r.Alert + "`](operate.md#" + anchor.Of(r.Section) + ") | " + string(r.Severity) + " | " + r.Summary + " |\n")
		}
	}
	return b.String()
}

// TestEveryMetricIsDrawn: the dashboards show each metric of the table, and name nothing that is not there.
func TestEveryMetricIsDrawn(t *testing.T) {
	left := table.All()
	for _, d := range Dashboards() {
		for _, p := range d.Panels {
			for _, q := range p.Targets {
				for _, name := range named(t.Errorf, d.name+": "+p.Title, strings.ReplaceAll(q.Expr, "$__rate_interval", "5m")) {
					delete(left, name)
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		t.Errorf("no dashboard shows %s", name)
	}
}
