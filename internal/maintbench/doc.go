// Package maintbench measures what a run of maintenance costs users who use the cluster meanwhile: `make maintain`.
package maintbench
