// Package child runs a worker in a process of its own (SPEC L5): Parent is the side of the server, which starts,
// watches and restarts it; Run is the child. The worker in it is package worker as it is anywhere else. What it needs
// of the cluster (streams to the leader, modules, blobs, compiled code) it asks of its parent, over a socket that only
// the two share.
package child
