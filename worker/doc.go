// Package worker is the part that holds a session, receives assignments, runs them through package runtime and reports.
// The same code runs inside every node and in `taskrt worker`; only the Dialer differs. DESIGN.md has the states, the
// timings and the protocol.
//
// Package worker/stream (subfolder) has the frames of the session stream, used by the worker and by node's hub.
package worker
