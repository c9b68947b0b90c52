// Package blob keeps content-addressed files on a node's disk and fetches what it lacks from peers by digest, verified.
// Modules live here; large payloads will. Bytes never enter the Raft log (SPEC B3, ARCHITECTURE section 2).
//
// A file is named by the lower-case hex SHA-256 of its bytes and lies in a folder named by the first two digits. It is
// written to a temporary file, synced, renamed, and its folder synced, so that a name that exists has its bytes. Reading
// checks them all the same: a file that a disk has torn is removed and fetched again, never handed out or served.
package blob
