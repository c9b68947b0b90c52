// Package maintbench measures what a run of maintenance, or a backup, costs users who use the cluster meanwhile: `make maintain`, `make backup`.
package maintbench
