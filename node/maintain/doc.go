// Package maintain removes what a cluster no longer needs (SPEC M1-M4): one run marks what must be kept, scans what
// there is, and deletes what is neither marked nor young, by commands of the log that carry the run's token. The state
// machine checks again everything that a run decides. So the worst that a wrong mark can do is to keep something, or to
// have a delete refused. See DESIGN.md.
package maintain
