// Package files keeps the files that the log refers to: modules, large payloads, what clients put. It puts a file on a
// majority of the voters before anything may refer to it, reads files of this disk or of other members, fetches what is
// missing here, and unlinks what the log has dropped (SPEC B3, H3, M3). DESIGN.md says in which order, and why.
package files
