// Package blob keeps content-addressed files on a node's disk, and exchanges them with peers by digest, verified. The files are modules
// and large payloads. Their bytes never enter the Raft log (SPEC B3, H3, docs/architecture.md#bytes-stay-out-of-the-log).
//
// The name of a file is the SHA-256 of its bytes in lower-case hex. The file lies in a folder named by the first two digits. The store
// writes it to a temporary file, syncs this file, renames it, and syncs its folder. So a name that exists has its bytes. Reading checks the
// bytes all the same, piece by piece: the store removes a file that a disk has torn and fetches it again. It never hands out or serves
// wrong bytes. DESIGN.md says more.
package blob
