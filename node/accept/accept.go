// Package accept brings accepts of external workers (SPEC J2) to the leader, where they wait: the node that was asked
// keeps a Client, the leader a Table of who waits, and links carry the questions of one node to the leader.
//
// An accept is known by its Key. Each lease that it gets carries its request. So every leader finds in the machine what
// its predecessors committed and did not answer: to ask again is always safe, and gives the same tasks. A call is one
// client that waits for the answer. When a client asks again, two calls have the same Key.
package accept

import "github.com/taskrt/taskrt/task"

// Key names an accept. Request is the request_id that the client gave, or a random one.
type Key struct {
	Namespace string `json:"namespace"`
	Behavior  string `json:"behavior"`
	Worker    string `json:"worker"`
	Request   string `json:"request"`
}

// Ask is a call on its way to the leader.
type Ask struct {
	Call         uint64      `json:"call"` // random; it stays the same when the call is asked again
	Key          Key         `json:"key"`
	Max          int         `json:"max"`
	Lease        task.Millis `json:"lease,omitempty"`          // 0: the behavior's
	MaxNotBefore task.Time   `json:"max_not_before,omitempty"` // 0: due tasks only
	Age          int64       `json:"age,omitempty"`            // how long it has waited, ms: so it keeps its place under a new leader
	Settle       bool        `json:"settle,omitempty"`         // do not wait any longer: answer after the next round of planning
}

// Abandon says that nobody will take the answer of a call. What was leased to the call is given back.
type Abandon struct {
	Call uint64 `json:"call"`
	Key  Key    `json:"key"`
}

// Frame is what a node says to the leader. An empty frame says that the node is still there. Both sides ignore unknown
// fields, because neighbouring versions must understand each other (SPEC C4).
type Frame struct {
	Ask     *Ask     `json:"ask,omitempty"`
	Settle  uint64   `json:"settle,omitempty"` // the number of a call: see Ask.Settle
	Abandon *Abandon `json:"abandon,omitempty"`
}

// Answer is what the leader says to a node.
type Answer struct {
	Call      uint64  `json:"call"`
	Abandoned bool    `json:"abandoned,omitempty"` // the call's leases are given back, or there are none
	Overload  bool    `json:"overload,omitempty"`  // too many accepts wait
	Index     uint64  `json:"index,omitempty"`     // of the log: a node that has applied it has the records of Grants
	Grants    []Grant `json:"grants,omitempty"`
}

// Grant is one lease.
type Grant struct {
	ID    string `json:"id"`
	Token uint64 `json:"token"`
	Left  int64  `json:"left"` // how much of the lease was left when the leader answered, ms
}
