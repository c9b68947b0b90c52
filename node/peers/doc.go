// Package peers is what the members of a cluster ask each other directly, beside the log: how each is, what it has kept of a
// task's attempts and on its disk, and progress on its way from the leader to those who watch.
package peers
