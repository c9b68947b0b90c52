// Package blob keeps content-addressed files on a node's disk and exchanges them with peers by digest, verified. Modules
// and large payloads live here. Bytes never enter the Raft log (SPEC B3, H3, ARCHITECTURE section 2).
//
// A file is named by the lower-case hex SHA-256 of its bytes and lies in a folder named by the first two digits. It is
// written to a temporary file, synced, renamed, and its folder synced, so that a name that exists has its bytes. Reading
// checks them all the same, piece by piece: a file that a disk has torn is removed and fetched again, never handed out or
// served. DESIGN.md says more.
package blob
