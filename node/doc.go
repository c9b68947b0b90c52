// Package node is one member of a cluster: it wires the replicated store, the hub that workers' streams arrive at, the
// leader loop, the built-in worker, files and logs, and implements api.Service on top. DESIGN.md says how, and what it
// guards against.
package node
