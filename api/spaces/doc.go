// Package spaces translates between the API of namespaces and the state machine: requests become commands, and records become
// values of the API. It also runs exports and imports (SPEC N1, M5).
package spaces
