// Package node is one member of a cluster: it opens what lies on disk, starts the parts and connects them: the
// replicated store, the Service, what leads, files and logs, the node's own workers. DESIGN.md names the rooms.
package node
