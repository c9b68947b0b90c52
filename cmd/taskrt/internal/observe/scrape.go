package observe

import (
	"fmt"
	"net"
	"net/url"
	"slices"

	"github.com/taskrt/taskrt/api"
)

// ScrapeSettings say what is scraped, and how.
type ScrapeSettings struct {
	Nodes   []string // HOST:PORT of each node
	Workers []string // HOST:PORT of `taskrt worker --metrics`
	TLS     bool     // the nodes speak HTTPS
	CAFile  string   // on the machine of Prometheus: who signs their certificates; "": whom this machine trusts
	Token   string   // file there with a token that may read everything; "": the cluster asks for none
	Labels  map[string]string
}

// scrapeFile is the part of Prometheus' configuration that is about scrapes.
type scrapeFile struct {
	Jobs []scrapeJob `yaml:"scrape_configs"`
}

type scrapeJob struct {
	Name          string         `yaml:"job_name"`
	Scheme        string         `yaml:"scheme,omitempty"`
	TLS           *scrapeTLS     `yaml:"tls_config,omitempty"`
	Authorization *scrapeToken   `yaml:"authorization,omitempty"`
	Static        []scrapeStatic `yaml:"static_configs"`
}

type scrapeTLS struct {
	CAFile string `yaml:"ca_file"`
}

type scrapeToken struct {
	File string `yaml:"credentials_file"`
}

type scrapeStatic struct {
	Targets []string          `yaml:"targets"`
	Labels  map[string]string `yaml:"labels,omitempty"`
}

// The jobs. The rules know both by the beginning of their names.
const (
	nodeJob   = "taskrt"
	workerJob = "taskrt-worker"
)

func scrapes(s ScrapeSettings) (f scrapeFile) {
	nodes := scrapeJob{Name: nodeJob, Static: []scrapeStatic{{s.Nodes, s.Labels}}}
	if s.TLS {
		nodes.Scheme = "https"
		if s.CAFile != "" {
			nodes.TLS = &scrapeTLS{s.CAFile}
		}
	}
	if s.Token != "" {
		nodes.Authorization = &scrapeToken{s.Token}
	}
	f.Jobs = append(f.Jobs, nodes)
	if len(s.Workers) > 0 { // their port is plain
		f.Jobs = append(f.Jobs, scrapeJob{Name: workerJob, Static: []scrapeStatic{{s.Workers, s.Labels}}})
	}
	return f
}

// nodesOf returns the addresses at which the members of a cluster serve clients, and whether they speak HTTPS.
func nodesOf(c *api.Cluster) (targets []string, tls bool, err error) {
	for _, n := range c.Nodes {
		u, err := url.Parse(n.HTTP)
		if err != nil || u.Host == "" {
			return nil, false, fmt.Errorf("node %s serves clients at %q, which is no URL", n.ID, n.HTTP)
		}
		targets, tls = append(targets, u.Host), tls || u.Scheme == "https"
	}
	slices.Sort(targets)
	return targets, tls, nil
}

// target checks an address to scrape.
func target(s string) error {
	if host, port, err := net.SplitHostPort(s); err != nil || host == "" || port == "" {
		return fmt.Errorf("%q is not HOST:PORT", s)
	}
	return nil
}
