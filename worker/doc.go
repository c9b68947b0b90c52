// Package worker holds a session, receives assignments, runs them through package runtime, and reports. The same code runs inside
// every node and in `taskrt worker`; they differ in the Dialer, the Modules and the Blobs. DESIGN.md has the states, the timings
// and the protocol.
//
// The subfolder worker/stream has the frames of the session stream. The worker and the leader's hub use them.
package worker
