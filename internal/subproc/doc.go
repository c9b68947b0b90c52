// Package subproc starts this program again as a child process that has a private socket to its parent: messages and open
// files travel over it, and its end of file means to either side that the other is gone. Nothing else in the system can
// reach that socket: it has no name, and only the child inherits it.
//
// What a child costs is looked at from outside (Anonymous), because a child that computes, is stopped or is being killed says nothing.
package subproc
