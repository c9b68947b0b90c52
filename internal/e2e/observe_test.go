package e2e

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/taskrt/taskrt/internal/leash"
)

// soughtElsewhere are metrics that rules name and that the cluster of TestMetrics has not, with the tests that ask a live node for them.
var soughtElsewhere = map[string]string{
	"taskrt_certificate_expiry_timestamp_seconds":  "TestOwnCertificatesAreRenewed",
	"taskrt_backup_last_success_timestamp_seconds": "TestBackupsBySchedule",
	"taskrt_backup_last_duration_seconds":          "TestBackupsBySchedule",
	"taskrt_backup_last_bytes":                     "TestBackupsBySchedule",
	"taskrt_backup_last_new_bytes":                 "TestBackupsBySchedule",
}

// observed checks that the alert rules and the dashboards of this build name only what these live processes send, and that the
// configuration of scrapes names the nodes (SPEC U2).
func (c *cluster) observed(processes ...string) {
	c.t.Helper()
	sent := families{}
	for _, addr := range processes {
		maps.Copy(sent, c.scrape(addr))
	}
	run := func(args ...string) []byte {
		c.t.Helper()
		out, err := leash.Command(binary, append([]string{"observe"}, args...)...).Output()
		if err != nil {
			c.t.Fatalf("taskrt observe %v: %v", args, err)
		}
		return out
	}
	var rules struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	var dashboards []struct {
		Title  string
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := yaml.Unmarshal(run("rules"), &rules); err != nil {
		c.t.Fatal(err)
	}
	if err := json.Unmarshal(run("dashboards"), &dashboards); err != nil {
		c.t.Fatal(err)
	}
	exprs := map[string]string{}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			exprs[r.Alert] = r.Expr
		}
	}
	for _, d := range dashboards {
		for _, p := range d.Panels {
			for _, q := range p.Targets {
				exprs[d.Title+": "+p.Title] += " " + q.Expr
			}
		}
	}
	if len(exprs) < 90 {
		c.t.Errorf("only %d rules and panels", len(exprs))
	}
	names := regexp.MustCompile(`\b(?:taskrt|process)_[a-z_]+`)
	for _, where := range slices.Sorted(maps.Keys(exprs)) {
		for _, name := range names.FindAllString(exprs[where], -1) {
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				if base, cut := strings.CutSuffix(name, suffix); cut && sent[base].GetType().String() == "HISTOGRAM" {
					name = base
				}
			}
			if sent[name] == nil && soughtElsewhere[name] == "" {
				c.t.Errorf("%s: no process sends %s", where, name)
			}
		}
	}
	for _, p := range c.nodes {
		if config := c.taskrt(binary, "observe", "scrape"); !strings.Contains(config, "- "+p.http+"\n") || strings.Contains(config, "https") {
			c.t.Errorf("the configuration of scrapes does not name %s:\n%s", p.http, config)
		}
	}
}
