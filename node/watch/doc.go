// Package watch lets many subscribers follow the changes of tasks on one node (SPEC W3). It knows nothing of HTTP, of
// the log, nor of the cluster. Its owner feeds it with the events of the node's own machine, in order.
//
//	machine events ─▶ Feed.Ingest ─▶ ring of recent changes ─▶ Sub.Next (each with a cursor and filters of its own)
//	reports of workers ─▶ Feed.Live ─┘
//
// A subscriber holds nothing but a place in the ring. A subscriber that reads too slowly, or comes back with a rev that
// the ring no longer has, gets Reset and then the present state of everything that it asked for, read from the machine
// page by page. So it never misses a transition to a final state, and never slows others.
package watch
