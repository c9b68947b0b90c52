// Package observe prints what Prometheus and Grafana need to watch a cluster: alert rules, dashboards and a configuration of scrapes
// (SPEC U2). What is drawn is made of the table of metrics; each alert names a section of docs/operate.md.
package observe
