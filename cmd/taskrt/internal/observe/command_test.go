package observe

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
	"go.yaml.in/yaml/v3"

	"github.com/taskrt/taskrt/api"
)

var rewrite = flag.Bool("rewrite", false, "write the list of alerts in docs/metrics.md anew")

// observe runs the command beside a cluster, which may be none.
func observe(cluster *api.Cluster, args ...string) (string, error) {
	var out bytes.Buffer
	c := Command(Kit{
		Out: &out,
		String: func(_, name, value, usage string, _ ...string) cli.Flag {
			return &cli.StringFlag{Name: name, Value: value, Usage: usage}
		},
		List: func(_, name, usage string) cli.Flag { return &cli.StringSliceFlag{Name: name, Usage: usage} },
		Online: func(do func(*cli.Context, func() (*api.Cluster, error)) error) cli.ActionFunc {
			return func(c *cli.Context) error {
				return do(c, func() (*api.Cluster, error) {
					if cluster == nil {
						return nil, errors.New("no cluster")
					}
					return cluster, nil
				})
			}
		},
	})
	app := &cli.App{Commands: []*cli.Command{c}, Writer: io.Discard, ErrWriter: io.Discard, ExitErrHandler: func(*cli.Context, error) {}}
	err := app.Run(append([]string{"taskrt", "observe"}, args...))
	return out.String(), err
}

// TestScrape: the configuration has the nodes that a cluster names, or those that were given, and what a cluster with a secret needs
// (SPEC U2).
func TestScrape(t *testing.T) {
	open := &api.Cluster{Nodes: []api.Node{{ID: "n2", HTTP: "http://n2.example:7070"}, {ID: "n1", HTTP: "http://n1.example:7070"}}}
	closed := &api.Cluster{Nodes: []api.Node{{ID: "n1", HTTP: "https://[::1]:7070"}}}
	for name, tc := range map[string]struct {
		cluster *api.Cluster
		args    []string
		want    string
	}{
		"of an open cluster": {open, nil, `
scrape_configs:
  - job_name: taskrt
    static_configs:
      - targets:
          - n1.example:7070
          - n2.example:7070
        labels:
          cluster: taskrt
`},
		"of a closed cluster": {closed, []string{"--worker", "w1:7079", "--label", "cluster=jobs", "--label", "env=test"}, `
scrape_configs:
  - job_name: taskrt
    scheme: https
    tls_config:
      ca_file: /etc/prometheus/taskrt-ca.pem
    authorization:
      credentials_file: /etc/prometheus/taskrt-token
    static_configs:
      - targets:
          - '[::1]:7070'
        labels:
          cluster: jobs
          env: test
  - job_name: taskrt-worker
    static_configs:
      - targets:
          - w1:7079
        labels:
          cluster: jobs
          env: test
`},
		"of given nodes": {nil, []string{"--scheme", "https", "--prometheus-ca", "none", "--prometheus-token", "/t", "a:1", "b:2"}, `
scrape_configs:
  - job_name: taskrt
    scheme: https
    authorization:
      credentials_file: /t
    static_configs:
      - targets:
          - a:1
          - b:2
        labels:
          cluster: taskrt
`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := observe(tc.cluster, append([]string{"scrape"}, tc.args...)...)
			if err != nil || got != strings.TrimPrefix(tc.want, "\n") {
				t.Errorf("%v\n%s", err, got)
			}
		})
	}
}

// TestUsage: what makes no sense is refused, and says why.
func TestUsage(t *testing.T) {
	for _, tc := range []struct{ args, want string }{
		{"scrape", "no cluster"},
		{"scrape n1", "not HOST:PORT"},
		{"scrape --worker w1 n1:1", "not HOST:PORT"},
		{"scrape --scheme ftp n1:1", "http or https"},
		{"scrape --label 1x=y n1:1", "NAME=VALUE"},
		{"rules --label x", "NAME=VALUE"},
		{"rules --backup-age soon", "no time"},
		{"rules --backup-age -1h", "no time"},
		{"dashboards nodse", "did you mean nodes"},
	} {
		if out, err := observe(nil, strings.Fields(tc.args)...); err == nil || !strings.Contains(err.Error(), tc.want) || out != "" {
			t.Errorf("%s: %v\n%s", tc.args, err, out)
		}
	}
	bad := &api.Cluster{Nodes: []api.Node{{ID: "n1", HTTP: "n1:7070"}}}
	if _, err := observe(bad, "scrape"); err == nil || !strings.Contains(err.Error(), "no URL") {
		t.Errorf("a member without an address: %v", err)
	}
}

// TestPrinted: rules are YAML with the settings that were given, dashboards JSON: all, one, or a file for each.
func TestPrinted(t *testing.T) {
	out, err := observe(nil, "rules", "--label", "team=jobs", "--backup-age", "90m")
	var f ruleFile
	if err != nil || yaml.Unmarshal([]byte(out), &f) != nil || len(f.Groups) != len(Groups()) || !strings.Contains(out, "> 5400") || !strings.Contains(out, "team: jobs") {
		t.Errorf("%v: %.300s", err, out)
	}
	out, err = observe(nil, "dashboards")
	var all []model
	if err != nil || json.Unmarshal([]byte(out), &all) != nil || len(all) != len(Dashboards()) {
		t.Errorf("%v: %.300s", err, out)
	}
	out, err = observe(nil, "dashboards", "nodes")
	var one model
	if err != nil || json.Unmarshal([]byte(out), &one) != nil || one.UID != "taskrt-nodes" {
		t.Errorf("%v: %.300s", err, out)
	}
	dir := t.TempDir()
	if out, err := observe(nil, "dashboards", "--dir", dir); err != nil || out != "" {
		t.Errorf("%v: %s", err, out)
	}
	for _, name := range names() {
		text, err := os.ReadFile(filepath.Join(dir, name+".json"))
		if err != nil || json.Unmarshal(text, &one) != nil || one.UID != "taskrt-"+name {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := observe(nil, "dashboards", "--dir", filepath.Join(dir, "gone")); err == nil {
		t.Error("files were written into no directory")
	}
}
