package api

import "encoding/json"

// ExternalBehavior is the body of PUT /v1/behaviors/{name}: an external behavior (SPEC B7, J1), with the policy fields
// of a manifest's behavior (SPEC B1). What is absent has its default. The Service decodes it; this type is for writing it.
type ExternalBehavior struct {
	Kind           string             `json:"kind"`                      // "external"
	Lease          *Duration          `json:"lease,omitempty"`           // how long a lease lasts without a heartbeat: 1s to 1h, default 30s
	Name           string             `json:"name,omitempty"`            // if given, that of the path
	Description    string             `json:"description,omitempty"`     //
	ID             *BehaviorID        `json:"id,omitempty"`              //
	Retry          *BehaviorRetry     `json:"retry,omitempty"`           //
	RunTimeout     *Duration          `json:"run_timeout,omitempty"`     // an attempt ends then in any case; default 1h
	CancelGrace    *Duration          `json:"cancel_grace,omitempty"`    // how long a cancelled attempt may go on; default 5s
	RepeatEvery    *Duration          `json:"repeat_every,omitempty"`    // due again so long after the end of a run; at least 100ms
	RepeatOn       string             `json:"repeat_on,omitempty"`       // success (default), or any: after final failures too
	Limits         *BehaviorLimits    `json:"limits,omitempty"`          //
	OnTimeout      string             `json:"on_timeout,omitempty"`      // retry (default), fail
	MaxLost        *int64             `json:"max_lost,omitempty"`        // losses of a cycle after which it fails; default 10
	MaxConcurrent  *int64             `json:"max_concurrent,omitempty"`  // tasks that run at one time in the cluster; 0: no limit
	ConcurrencyKey string             `json:"concurrency_key,omitempty"` // JSON pointer into params
	MaxPerKey      *int64             `json:"max_per_key,omitempty"`     // tasks that run at one time with one key; 0: no limit
	KeyOrder       string             `json:"key_order,omitempty"`       // strict: a task that waits for its retry holds its key
	Retention      *BehaviorRetention `json:"retention,omitempty"`       //
	Result         string             `json:"result,omitempty"`          // optional (default), required
	ParamsSchema   json.RawMessage    `json:"params_schema,omitempty"`   // JSON Schema 2020-12; a submit must match
	ResultSchema   json.RawMessage    `json:"result_schema,omitempty"`   // JSON Schema 2020-12; a result must match
}

// BehaviorID says how the ID of a task is chosen that gives none (SPEC I1, I2).
type BehaviorID struct {
	Strategy string   `json:"strategy,omitempty"` // random (default), params: a hash of them, caller: it must be given
	From     []string `json:"from,omitempty"`     // with params: JSON pointers to what is hashed
}

// BehaviorRetry is the retry policy (SPEC R2). The wait after the failure number n is initial_interval × (multiplier_thousandths /
// 1000)^(n-1), at most max_interval, less a part that the jitter takes away. Factors are whole numbers: every node computes the same.
type BehaviorRetry struct {
	MaxAttempts           *int64    `json:"max_attempts,omitempty"`           // 1 (default): no retry, 0: no limit
	InitialInterval       *Duration `json:"initial_interval,omitempty"`       // default 1s
	MultiplierThousandths *int64    `json:"multiplier_thousandths,omitempty"` // the factor between two waits in thousandths, 1000 to 100000: 1500 is half as long again; default 2000, each twice the one before
	MaxInterval           *Duration `json:"max_interval,omitempty"`           // default 1h
	JitterPercent         *int64    `json:"jitter_percent,omitempty"`         // by how much per cent a wait may be shorter, 0 to 100, so that tasks which failed together do not come back together; default 10
}

// BehaviorLimits bound payloads, in bytes.
type BehaviorLimits struct {
	ParamsBytes     *int64 `json:"params_bytes,omitempty"`
	ResultBytes     *int64 `json:"result_bytes,omitempty"`
	CheckpointBytes *int64 `json:"checkpoint_bytes,omitempty"`
}

// BehaviorRetention says how long final tasks are kept, and how many (SPEC T9). What is absent the namespace says; what that
// does not say either is 72h and 336h.
type BehaviorRetention struct {
	Success Keep   `json:"success,omitzero"`
	Failure Keep   `json:"failure,omitzero"`
	Count   *int64 `json:"count,omitempty"` // the newest of both together; 0: no limit
}
