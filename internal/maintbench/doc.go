// Package maintbench measures what a run of maintenance costs those who use the cluster meanwhile: `make maintain`.
package maintbench
