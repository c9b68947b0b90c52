// Package codecache keeps the native code and the images of modules on disk (SPEC L5).
//
// wazero guards its files by a CRC over the code alone: a flipped bit in the table of offsets would jump anywhere. So each
// module has a directory with a file of the SHA-256 sums of the others, and the sums are checked before wazero sees the
// code. A directory is made beside its place and renamed into it once it is complete: a crash or another process never
// leaves half of one. DESIGN.md says more.
package codecache
