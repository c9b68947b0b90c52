// Package bounds has the limits of a state machine: how much it keeps, and how much one entry of the log does.
package bounds

import "github.com/taskrt/taskrt/task/hash"

// Limit bounds what the machine keeps. It is part of the state and travels in snapshots, so all replicas of a cluster
// have the same limits, whatever their builds say.
type Limit struct {
	Finals       int64 `cbor:"1,keyasint"`            // final tasks per namespace (SPEC T9)
	Sweep        int64 `cbor:"2,keyasint"`            // tasks that one Tick removes at most; the next Tick goes on
	Processes    int64 `cbor:"3,keyasint"`            // proposing processes whose answers are kept (SPEC H4)
	Answers      int64 `cbor:"4,keyasint"`            // answers kept per process
	AnswerBytes  int64 `cbor:"5,keyasint"`            // bytes of the payloads of these answers, per process
	ProcessIdle  int64 `cbor:"6,keyasint"`            // lease_now milliseconds after which an idle process is forgotten
	StrikesATick int64 `cbor:"7,keyasint"`            // deadlines that one Tick lets strike at most
	Keys         int64 `cbor:"8,keyasint"`            // idempotency keys that are remembered (SPEC H4)
	KeyBytes     int64 `cbor:"9,keyasint"`            // of all answers under keys; the last answer that is admitted may pass it
	Namespaces   int64 `cbor:"10,keyasint,omitempty"` // including PURGED namespaces that are not forgotten yet
	Steps        int64 `cbor:"11,keyasint,omitempty"` // tasks of operations that one entry makes, cancels, retries or removes at most (SPEC O1)
	Cleanups     int64 `cbor:"12,keyasint,omitempty"` // cleanups that are bound to one session (SPEC O3)
}

// Default returns the limits of a new cluster.
func Default() Limit {
	return Limit{
		Finals: 1_000_000, Sweep: 1_000, Processes: 1_024, Answers: 8_192, AnswerBytes: 32 << 20,
		ProcessIdle: 3_600_000, StrikesATick: 10_000, Keys: 200_000, KeyBytes: 128 << 20, Namespaces: 10_000,
		Steps: 2_000, Cleanups: 1_000,
	}
}

// With returns l with the positive fields of o.
func (l Limit) With(o Limit) Limit {
	for i, field := range l.Fields() {
		if v := *o.Fields()[i]; v > 0 {
			*field = v
		}
	}
	return l
}

// Fields returns all fields, in an order that is part of the digest.
func (l *Limit) Fields() []*int64 {
	return []*int64{
		&l.Finals, &l.Sweep, &l.Processes, &l.Answers, &l.AnswerBytes, &l.ProcessIdle, &l.StrikesATick, &l.Keys, &l.KeyBytes, &l.Namespaces,
		&l.Steps, &l.Cleanups,
	}
}

// Mix mixes all fields into a hash.
func (l *Limit) Mix(h *hash.Hash) {
	for _, limit := range l.Fields() {
		h.Int(*limit)
	}
}

// Bucket returns how much is in a bucket now, in thousandths of a unit, if left was in it at since. rate is in units per second, so a millisecond
// brings rate thousandths. A second fills the bucket. A bucket that was never used is full.
func Bucket(rate, left, since, now int64) int64 {
	elapsed := max(now-since, 0)
	if since == 0 || elapsed >= 1000 {
		return 1000 * rate
	}
	return min(left+elapsed*rate, 1000*rate)
}

// Usage is what a namespace holds, in O(1).
type Usage struct {
	Tasks      int64 // records
	Owed       int64 // partition tasks of its operations that are not made yet
	Running    int64
	Bytes      int64
	Operations int64
	Records    int64 // of the TaskStore API
	Behaviors  int64 // includes deleted behaviors that still have tasks
	Forever    int64 // final tasks that their behaviors keep for ever
	Excess     int64 // final tasks that would be kept for ever if there were not so many without a quota (SPEC T9)
}
