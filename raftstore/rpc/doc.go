// Package rpc carries requests between the nodes of a cluster: proposals on their way to the leader, questions about
// state and membership. It knows who is asked and what came back, but not what is asked: the bodies belong to the
// packages that ask.
//
// Requests travel in frames over mux.Propose. Each connection begins with the identities of both ends. So a request for
// one node never reaches another node that has got its address. Many requests share a connection, and answers come in
// any order.
package rpc

// Kinds of requests. The numbers are part of the wire format: never reuse one.
const (
	kindGreet     byte = 0  // a greeting; not answered
	KindPropose   byte = 1  // body: wire.EncodeProposals; answer: wire.EncodeResults
	KindReadIndex byte = 2  // body: the term that the asking node has seen; of a former build: empty; answer: an index
	KindDigest    byte = 3  // how a node is, and the digest of its state
	KindDiverged  byte = 4  // task.Digest of the majority; no answer body
	KindHello     byte = 5  // greeting of a member, or of a node that wants to be one
	KindPromise   byte = 6  // the promise to found a cluster with the node that asks
	KindTerm      byte = 7  // no body; answer: the latest term that the node has seen
	KindRefused   byte = 8  // whether the leader's process has ended
	KindTransfer  byte = 9  // the leader is asked to hand over
	KindStart     byte = 10 // a member is asked to confirm a start
	KindHolder    byte = 11 // no body; answer: who is there, by which start
)

// Statuses of answers.
const (
	StatusOK         byte = 0
	StatusNotLeader  byte = 1 // nothing was proposed
	StatusUnknown    byte = 2 // something may have been proposed
	StatusOverloaded byte = 3 // nothing was proposed
	StatusTooLarge   byte = 4 // nothing was proposed
	StatusRefused    byte = 5 // body: text
	StatusStalled    byte = 6 // nothing was proposed
)
