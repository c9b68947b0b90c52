package scale

import (
	_ "embed"
	"encoding/json"
	"time"
)

// Cost is the CPU time of one role in microseconds of the machine on which it was measured.
type Cost struct {
	Task    float64 `json:"task"`    // for each task
	Request float64 `json:"request"` // for each request: a node has as many as it is asked, callers have all
	Entry   float64 `json:"entry"`   // for each group of the log: a durable write, and messages about it; of guests: for each part of a group that a worker gets
	Send    float64 `json:"send"`    // of the leader: for each group and follower
	KiB     float64 `json:"kib"`     // for each task, by the KiB of its params
}

// Roles is what one kind of work costs.
type Roles struct {
	Leader   Cost `json:"leader"`
	Follower Cost `json:"follower"` // each of them
	Callers  Cost `json:"callers"`  // all of them
	Guests   Cost `json:"guests"`   // all processes of guests
	// Bytes is what the leader sends of a task to each follower, besides params.
	Bytes float64 `json:"bytes"`
	// Serial is what the state machine computes for a task, in its one goroutine. It is part of the leader's and of each follower's time.
	Serial float64 `json:"serial"`
}

// Costs is what was measured: `make scale-calibrate` writes it.
type Costs struct {
	Measured string  `json:"measured"` // when, and on what
	Share    float64 `json:"share"`    // the part of the CPU time of a call for which its caller waits
	Stream   Roles   `json:"stream"`   // a submit over a stream
	HTTP     Roles   `json:"http"`     // a submit by itself
	E2E      Roles   `json:"e2e"`      // a submit, over a stream, until its result
	Drain    Roles   `json:"drain"`    // a queued task, until it is done
	Rows     []Row   `json:"rows"`     // what was measured meanwhile: the model must reproduce it
}

// Row is a load as it was measured while costs were taken.
type Row struct {
	Cluster Cluster       `json:"cluster"`
	Work    Work          `json:"work"`
	Rate    float64       `json:"rate"`
	P50     time.Duration `json:"p50"`
	CPU     float64       `json:"cpu"` // microseconds of a task
}

//go:embed costs.json
var measured []byte

// Measured returns the costs that belong to this tree.
func Measured() (*Costs, error) {
	var k Costs
	return &k, json.Unmarshal(measured, &k)
}

func (k *Costs) of(w Work) Roles {
	switch {
	case w.Kind == Drain:
		return k.Drain
	case w.Kind == Run:
		return k.E2E
	case w.HTTP:
		return k.HTTP
	}
	return k.Stream
}
