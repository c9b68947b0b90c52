// Package audit is what a node does for the record of who changed what (SPEC A8): it says on what a command is, counts refusals, and shows the
// records of the state.
package audit
