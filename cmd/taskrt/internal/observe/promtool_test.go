package observe

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/taskrt/taskrt/internal/anchor"
	"github.com/taskrt/taskrt/internal/leash"
)

// promtool finds Prometheus' own tool. Debian has it in the package prometheus.
func promtool(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		if os.Getenv("TASKRT_PROMTOOL") != "" {
			t.Fatal(err)
		}
		t.Skip("no promtool: make observe-check needs it (apt-get install prometheus)")
	}
	return path
}

// check runs promtool.
func check(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := leash.Command(promtool(t), args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// save writes what a command prints into a file.
func save(t *testing.T, dir, file string, args ...string) {
	t.Helper()
	out, err := observe(nil, args...)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, file), []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestPromtoolReads: Prometheus' own tool takes the rules, the configuration of scrapes and, as rules, all that the dashboards ask for.
func TestPromtoolReads(t *testing.T) {
	promtool(t)
	dir := t.TempDir()
	save(t, dir, "rules.yml", "rules", "--label", "team=jobs")
	check(t, dir, "check", "rules", "rules.yml")

	save(t, dir, "open.yml", "scrape", "--worker", "w1:7079", "n1:7070", "n2:7070")
	check(t, dir, "check", "config", "open.yml")
	files := []string{"--prometheus-ca", filepath.Join(dir, "ca.pem"), "--prometheus-token", filepath.Join(dir, "token")}
	for _, f := range []string{files[1], files[3]} {
		if err := os.WriteFile(f, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	save(t, dir, "closed.yml", append([]string{"scrape", "--scheme", "https"}, append(files, "n1:7070")...)...)
	check(t, dir, "check", "config", "--syntax-only", "closed.yml")

	var drawn ruleGroup
	for _, d := range Dashboards() {
		for _, p := range d.Panels {
			for _, q := range p.Targets {
				expr := strings.ReplaceAll(q.Expr, "$__rate_interval", "5m")
				drawn.Rules = append(drawn.Rules, alertRule{Alert: "Panel", Expr: expr, For: "0m", Labels: map[string]string{"n": fmt.Sprint(len(drawn.Rules))}})
			}
		}
	}
	drawn.Name = "drawn"
	text, err := yaml.Marshal(ruleFile{Groups: []ruleGroup{drawn}})
	if err != nil || len(drawn.Rules) < 60 {
		t.Fatalf("%v, %d panels", err, len(drawn.Rules))
	}
	if err := os.WriteFile(filepath.Join(dir, "drawn.yml"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	check(t, dir, "check", "rules", "drawn.yml")
}

// promTests is a file of promtool's tests.
type promTests struct {
	Rules    []string   `yaml:"rule_files"`
	Interval string     `yaml:"evaluation_interval"`
	Tests    []promTest `yaml:"tests"`
}

type promTest struct {
	Name     string       `yaml:"name"`
	Interval string       `yaml:"interval"`
	Series   []promSeries `yaml:"input_series"`
	Alerts   []promAlert  `yaml:"alert_rule_test"`
}

type promSeries struct {
	Series string `yaml:"series"`
	Values string `yaml:"values"`
}

type promAlert struct {
	At    string      `yaml:"eval_time"`
	Alert string      `yaml:"alertname"`
	Want  []promFires `yaml:"exp_alerts"`
}

type promFires struct {
	Labels map[string]string `yaml:"exp_labels"`
	Notes  map[string]string `yaml:"exp_annotations"`
}

// promtest makes the test of a case: what fires with these values, and that nothing fires with those.
func (c alertCase) promtest(r Rule, quiet bool) promTest {
	values := c.fires
	if quiet {
		values = c.quiet
	}
	p := promTest{Name: c.alert, Interval: "1m"}
	for _, s := range slices.Sorted(maps.Keys(values)) {
		p.Series = append(p.Series, promSeries{s, values[s]})
	}
	a := promAlert{At: c.at, Alert: c.alert, Want: []promFires{}}
	if !quiet {
		f := promFires{map[string]string{"severity": string(r.Severity)}, map[string]string{"summary": r.Summary + ".", "runbook_url": Runbook + "#" + anchor.Of(r.Section)}}
		for _, l := range strings.Fields(c.labels) {
			name, value, _ := strings.Cut(l, "=")
			f.Labels[name] = value
		}
		if c.says != "" {
			f.Notes["description"] = c.says
		}
		a.Want = append(a.Want, f)
	}
	p.Alerts = []promAlert{a}
	return p
}

// TestPromtoolFires: each alert fires when it must, says then what it is about, and does not fire when it must not (SPEC U2).
func TestPromtoolFires(t *testing.T) {
	rules := map[string]Rule{}
	for _, g := range Groups() {
		for _, r := range g.Rules {
			rules[r.Alert] = r
		}
	}
	minutes, hours := promTests{Rules: []string{"rules.yml"}, Interval: "1m"}, promTests{Rules: []string{"rules.yml"}, Interval: "10m"}
	for _, c := range alertCases() {
		r, ok := rules[c.alert]
		if !ok {
			t.Fatalf("there is no alert %s", c.alert)
		}
		delete(rules, c.alert)
		tests := &minutes
		if at, err := time.ParseDuration(c.at); err != nil {
			t.Fatal(err)
		} else if at > time.Hour { // or all rules are evaluated each minute of two days
			tests = &hours
		}
		tests.Tests = append(tests.Tests, c.promtest(r, false), c.promtest(r, true))
	}
	for name := range rules { // order-free: each is an error of its own
		t.Errorf("no case of %s", name)
	}
	promtool(t)
	dir := t.TempDir()
	save(t, dir, "rules.yml", "rules")
	for file, tests := range map[string]promTests{"minutes.yml": minutes, "hours.yml": hours} {
		text, err := yaml.Marshal(tests)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), text, 0o600); err != nil {
			t.Fatal(err)
		}
		check(t, dir, "test", "rules", file)
	}
}
