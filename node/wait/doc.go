// Package wait lets requests wait for tasks and operations (SPEC W1, W2): one subscription to the node's own events feeds
// all who wait, by key, so that waiting costs nothing per change of anything else. DESIGN.md says why no transition is
// missed.
package wait
