package api

import "encoding/json"

// ExternalBehavior is the body of PUT /v1/behaviors/{name}: an external behavior (SPEC B7, J1), with the policy fields of a
// manifest's behavior (SPEC B1). A field that is absent has its default. The Service decodes the body itself; this type is for
// programs that write it.
type ExternalBehavior struct {
	Kind           string             `json:"kind"`                      // "external"
	Lease          *Duration          `json:"lease,omitempty"`           // how long a lease lasts without a heartbeat: 1s to 1h, default 30s
	Name           string             `json:"name,omitempty"`            // if given, it must be the name in the path
	Description    string             `json:"description,omitempty"`     //
	ID             *BehaviorID        `json:"id,omitempty"`              //
	Retry          *BehaviorRetry     `json:"retry,omitempty"`           //
	RunTimeout     *Duration          `json:"run_timeout,omitempty"`     // an attempt ends then in any case; default 1h
	CancelGrace    *Duration          `json:"cancel_grace,omitempty"`    // how long a cancelled attempt may go on; default 5s
	RepeatEvery    *Duration          `json:"repeat_every,omitempty"`    // a task is due again so long after the end of a run; at least 100ms
	RepeatOn       string             `json:"repeat_on,omitempty"`       // success (default), or any: after final failures, too
	Limits         *BehaviorLimits    `json:"limits,omitempty"`          //
	OnTimeout      string             `json:"on_timeout,omitempty"`      // retry (default), fail
	MaxLost        *int64             `json:"max_lost,omitempty"`        // after so many losses in a cycle the task fails; default 10
	MaxConcurrent  *int64             `json:"max_concurrent,omitempty"`  // tasks that run at one time in the cluster; 0: no limit
	ConcurrencyKey string             `json:"concurrency_key,omitempty"` // JSON pointer into params
	MaxPerKey      *int64             `json:"max_per_key,omitempty"`     // tasks that run at one time with one key; 0: no limit
	KeyOrder       string             `json:"key_order,omitempty"`       // strict: a task that waits for its retry holds its key
	Retention      *BehaviorRetention `json:"retention,omitempty"`       //
	Result         string             `json:"result,omitempty"`          // optional (default), required
	ParamsSchema   json.RawMessage    `json:"params_schema,omitempty"`   // JSON Schema 2020-12; a submit must match
	ResultSchema   json.RawMessage    `json:"result_schema,omitempty"`   // JSON Schema 2020-12; a result must match
}

// BehaviorID says how the ID of a task is chosen if the submit gives none (SPEC I1, I2).
type BehaviorID struct {
	Strategy string   `json:"strategy,omitempty"` // random (default); params: a hash of the params; caller: the submit must give an ID
	From     []string `json:"from,omitempty"`     // with params: JSON pointers to what is hashed
}

// BehaviorRetry is the retry policy (SPEC R2). The wait after the failure number n is initial_interval × (multiplier_thousandths /
// 1000)^(n-1), at most max_interval, less a part that the jitter takes away. Factors are whole numbers: every node computes the same.
type BehaviorRetry struct {
	MaxAttempts     *int64    `json:"max_attempts,omitempty"`     // 1 (default): no retry, 0: no limit
	InitialInterval *Duration `json:"initial_interval,omitempty"` // default 1s
	// MultiplierThousandths is the factor between two waits in thousandths, 1000 to 100000. 1500 makes each wait half as long
	// again as the wait before. The default is 2000, which doubles it.
	MultiplierThousandths *int64    `json:"multiplier_thousandths,omitempty"`
	MaxInterval           *Duration `json:"max_interval,omitempty"` // default 1h
	// JitterPercent is by how many per cent a wait may be shorter, 0 to 100, so that tasks that failed together do not come
	// back together. The default is 10.
	JitterPercent *int64 `json:"jitter_percent,omitempty"`
}

// BehaviorLimits bound payloads, in bytes.
type BehaviorLimits struct {
	ParamsBytes     *int64 `json:"params_bytes,omitempty"`
	ResultBytes     *int64 `json:"result_bytes,omitempty"`
	CheckpointBytes *int64 `json:"checkpoint_bytes,omitempty"`
}

// BehaviorRetention says how long final tasks are kept, and how many (SPEC T9). A field that is absent has the namespace's
// value; if the namespace has none either, success is 72h and failure is 336h.
type BehaviorRetention struct {
	Success Keep   `json:"success,omitzero"`
	Failure Keep   `json:"failure,omitzero"`
	Count   *int64 `json:"count,omitempty"` // how many of the newest, successes and failures together, are kept; 0: no limit
}
