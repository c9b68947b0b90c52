package manifest

import (
	"encoding/json"
	"time"
)

// SchemaVersion is the version of the manifest's JSON.
const SchemaVersion = 1

// Manifest describes the behaviors of a module (SPEC B1). A nil or empty field was not given; Settings fills in the
// defaults. The JSON of a Manifest is canonical: its fields have a fixed order, and a field that was not given is
// left out.
type Manifest struct {
	Schema    int        `json:"schema"`
	Behaviors []Behavior `json:"behaviors"` // taskrt_run gets the index
	Requires  []string   `json:"requires,omitempty"`
}

// Behavior is one behavior of a manifest.
type Behavior struct {
	Name             string          `json:"name"`
	Description      string          `json:"description,omitempty"`
	ID               *ID             `json:"id,omitempty"`
	Retry            *Retry          `json:"retry,omitempty"`
	RunTimeout       *Duration       `json:"run_timeout,omitempty"`
	HeartbeatTimeout *Duration       `json:"heartbeat_timeout,omitempty"`
	CancelGrace      *Duration       `json:"cancel_grace,omitempty"`
	RepeatEvery      *Duration       `json:"repeat_every,omitempty"` // SPEC R4
	RepeatOn         string          `json:"repeat_on,omitempty"`    // "success" or "any"
	Limits           *Limits         `json:"limits,omitempty"`
	OnTrap           string          `json:"on_trap,omitempty"` // "retry" or "fail"
	OnTimeout        string          `json:"on_timeout,omitempty"`
	OnExhausted      string          `json:"on_exhausted,omitempty"`
	MaxLost          *int64          `json:"max_lost,omitempty"`        // SPEC R3
	MaxConcurrent    *int64          `json:"max_concurrent,omitempty"`  // SPEC L11
	ConcurrencyKey   string          `json:"concurrency_key,omitempty"` // JSON pointer into params
	MaxPerKey        *int64          `json:"max_per_key,omitempty"`
	KeyOrder         string          `json:"key_order,omitempty"` // "strict"
	Retention        *Retention      `json:"retention,omitempty"`
	Result           string          `json:"result,omitempty"` // "optional" or "required"
	ParamsSchema     json.RawMessage `json:"params_schema,omitempty"`
	ResultSchema     json.RawMessage `json:"result_schema,omitempty"`
	Operation        *Operation      `json:"operation,omitempty"` // SPEC O2
}

// ID says how the ID of a task is chosen (SPEC I1, I2).
type ID struct {
	Strategy string   `json:"strategy,omitempty"` // "random", "params" or "caller"
	From     []string `json:"from,omitempty"`     // JSON pointers into params, with "params" only
}

// Retry is the retry policy (SPEC R2).
type Retry struct {
	MaxAttempts           *int64    `json:"max_attempts,omitempty"` // 1: no retry, 0: no limit
	InitialInterval       *Duration `json:"initial_interval,omitempty"`
	MultiplierThousandths *int64    `json:"multiplier_thousandths,omitempty"`
	MaxInterval           *Duration `json:"max_interval,omitempty"`
	JitterPercent         *int64    `json:"jitter_percent,omitempty"`
}

// Limits of an attempt and of payloads, in bytes; Fuel in units (package meter).
type Limits struct {
	MemoryBytes     *int64 `json:"memory_bytes,omitempty"`
	Fuel            *int64 `json:"fuel,omitempty"` // not given: none
	ParamsBytes     *int64 `json:"params_bytes,omitempty"`
	ResultBytes     *int64 `json:"result_bytes,omitempty"`
	CheckpointBytes *int64 `json:"checkpoint_bytes,omitempty"`
	LogBytes        *int64 `json:"log_bytes,omitempty"`
}

// Retention says how long final tasks are kept, and how many (SPEC T9, M2). The namespace says what is not given
// here.
type Retention struct {
	Success *Keep  `json:"success,omitempty"`
	Failure *Keep  `json:"failure,omitempty"`
	Count   *int64 `json:"count,omitempty"` // the newest final tasks, of whatever outcome; 0: no limit
}

// Keep is a Duration, or Forever, which is "never" in JSON.
type Keep time.Duration

// Forever keeps what is final until somebody removes it.
const Forever = Keep(-time.Millisecond)

// MarshalJSON writes "1m30s", or "never".
func (k Keep) MarshalJSON() ([]byte, error) {
	if k < 0 {
		return json.Marshal(keepNever)
	}
	return Duration(k).MarshalJSON()
}

const keepNever = "never"

// Duration is written as in Go ("1m30s") in JSON. It is whole milliseconds.
type Duration time.Duration

// MarshalJSON writes "1m30s".
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// UnmarshalJSON reads "1m30s".
func (d *Duration) UnmarshalJSON(data []byte) error {
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	parsed, err := time.ParseDuration(s)
	*d = Duration(parsed)
	return err
}
