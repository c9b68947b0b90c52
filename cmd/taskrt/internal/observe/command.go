package observe

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"go.yaml.in/yaml/v3"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/cmdline"
)

// Kit is what the commands have in common with all others.
type Kit struct {
	Out io.Writer
	// String and List make flags of a command.
	String func(command, name, value, usage string, aliases ...string) cli.Flag
	List   func(command, name, usage string) cli.Flag
	// Reach are the flags that say where a cluster is. Online makes the action of a command that may ask it.
	Reach  []cli.Flag
	Online func(func(*cli.Context, func() (*api.Cluster, error)) error) cli.ActionFunc
}

const name = "observe"

// Where Prometheus finds the files of a cluster with a secret, unless it is told otherwise.
const (
	defaultCA    = "/etc/prometheus/taskrt-ca.pem"
	defaultToken = "/etc/prometheus/taskrt-token" //nolint:gosec // the name of a file
)

// Command is `taskrt observe`.
func Command(k Kit) *cli.Command {
	labels := func() cli.Flag { return k.List(name, "label", "a label NAME=VALUE that each has; may be given again") }
	return &cli.Command{
		Name: name, Usage: "print what Prometheus and Grafana need to watch a cluster", Category: "cluster",
		Subcommands: []*cli.Command{
			{
				Name: "rules", Usage: "print the alert rules, as a file of rules of Prometheus",
				Flags: []cli.Flag{
					labels(),
					k.String(name, "runbook", Runbook, "URL of docs/operate.md, to whose sections the alerts lead"),
					k.String(name, "backup-age", "48h", "how old the last scheduled backup may be (like 26h)"),
				},
				Action: k.rules,
			},
			{
				Name: "dashboards", Usage: "print the dashboards of Grafana, or the one with a NAME", ArgsUsage: "[NAME]",
				Description: "The names: " + strings.Join(names(), ", ") + ". Without a NAME it prints all of them, as a list.",
				Flags:       []cli.Flag{k.String(name, "dir", "", "write each into a file NAME.json of this directory, from which Grafana provisions them")},
				Action:      k.dashboards,
			},
			{
				Name: "scrape", Usage: "print the part of Prometheus' configuration that scrapes the nodes at these addresses; without any, ask a node for them", ArgsUsage: "[HOST:PORT…]",
				Flags: append([]cli.Flag{
					labels(),
					k.List(name, "worker", "HOST:PORT of a taskrt worker's --metrics; may be given again"),
					k.String(name, "prometheus-ca", "", "file on Prometheus' machine with what taskrt secret ca --pem prints; none: the nodes' certificates are by an authority that it trusts. Default where nodes speak HTTPS: "+defaultCA),
					k.String(name, "prometheus-token", "", "file there with a token that may read everything; none: the cluster asks for no token. Default where nodes speak HTTPS: "+defaultToken),
					k.String(name, "scheme", "", "http or https; default: what the cluster says, or http for given addresses"),
				}, k.Reach...),
				Action: k.Online(k.scrape),
			},
		},
	}
}

func (k Kit) rules(c *cli.Context) error {
	labels, err := labelsOf(c)
	if err != nil {
		return err
	}
	age, err := time.ParseDuration(c.String("backup-age"))
	if err != nil || age <= 0 {
		return cmdline.Usagef(c, "--backup-age: %q is no time such as 26h", c.String("backup-age"))
	}
	return k.yaml(rules(RuleSettings{Labels: labels, Runbook: strings.TrimSuffix(c.String("runbook"), "#"), BackupAge: int64(age / time.Second)}))
}

func (k Kit) dashboards(c *cli.Context) error {
	all, want := Dashboards(), c.Args().First()
	if want != "" {
		all = slices.DeleteFunc(all, func(d *Dashboard) bool { return d.name != want })
	}
	switch dir := c.String("dir"); {
	case len(all) == 0:
		return unknown(c, want)
	case dir != "":
		return write(dir, all)
	case want != "":
		return encode(k.Out, all[0])
	}
	return encode(k.Out, all)
}

func unknown(c *cli.Context, want string) error {
	return cmdline.Usagef(c, "there is no dashboard %q, only %s%s", want, strings.Join(names(), ", "), cmdline.Meant("", want, names()))
}

// write makes the files of a directory.
func write(dir string, all []*Dashboard) error {
	for _, d := range all {
		f, err := os.Create(filepath.Join(dir, d.name+".json")) //nolint:gosec // where the caller wants it
		if err != nil {
			return err
		}
		err = encode(f, d)
		if closed := f.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (k Kit) scrape(c *cli.Context, ask func() (*api.Cluster, error)) error {
	labels, err := labelsOf(c)
	if err != nil {
		return err
	}
	if labels["cluster"] == "" {
		labels["cluster"] = "taskrt" // by it rules and dashboards tell clusters apart
	}
	s := ScrapeSettings{Nodes: c.Args().Slice(), Workers: c.StringSlice("worker"), CAFile: c.String("prometheus-ca"), Token: c.String("prometheus-token"), Labels: labels}
	if len(s.Nodes) == 0 {
		cluster, err := ask()
		if err != nil {
			return err
		}
		if s.Nodes, s.TLS, err = nodesOf(cluster); err != nil {
			return err
		}
	}
	for _, at := range append(append([]string{}, s.Nodes...), s.Workers...) {
		if err := target(at); err != nil {
			return cmdline.Usagef(c, "%w", err)
		}
	}
	switch scheme := c.String("scheme"); scheme {
	case "http", "https":
		s.TLS = scheme == "https"
	case "":
	default:
		return cmdline.Usagef(c, "--scheme is http or https, not %q", scheme)
	}
	ca, token := "", ""
	if s.TLS {
		ca, token = defaultCA, defaultToken
	}
	s.CAFile, s.Token = given(s.CAFile, ca), given(s.Token, token)
	return k.yaml(scrapes(s))
}

// given is the value of a flag of a file; "none" means no file.
func given(value, fallback string) string {
	switch value {
	case "":
		return fallback
	case "none":
		return ""
	}
	return value
}

var labelName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

func labelsOf(c *cli.Context) (map[string]string, error) {
	labels := map[string]string{}
	for _, l := range c.StringSlice("label") {
		name, value, ok := strings.Cut(l, "=")
		if !ok || !labelName.MatchString(name) {
			return nil, cmdline.Usagef(c, "--label %q is not NAME=VALUE", l)
		}
		labels[name] = value
	}
	return labels, nil
}

func (k Kit) yaml(v any) error {
	e := yaml.NewEncoder(k.Out)
	e.SetIndent(2)
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("write YAML: %w", err)
	}
	return e.Close()
}

func encode(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
