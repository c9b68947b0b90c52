// Package guard stands between taskrt and hashicorp/raft. The library is right about Raft, and has traps for those who
// use it: its interfaces are wrapped here so that none of them is left. DESIGN.md lists the traps.
//
// Above this package nothing knows of them: a Raft is opened, started, asked, and stopped.
package guard
