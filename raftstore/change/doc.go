// Package change makes a cluster's configuration what the log has settled (SPEC C2): it promotes newcomers that may vote, demotes and removes,
// forgets who is gone, and hands leadership over. DESIGN.md says how.
package change
