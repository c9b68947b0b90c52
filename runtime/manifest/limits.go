package manifest

import (
	"math"
	"time"
)

// Limits of a manifest.
const (
	MaxBytes        = 1 << 20 // of its JSON
	MaxBehaviors    = 100
	MaxDescription  = 4 << 10
	MaxPointers     = 32
	MaxPointerBytes = 1 << 10 // of concurrency_key and of each of id.from
	MaxSchemaBytes  = 64 << 10
	maxCapabilities = 100
)

// Limits of what a behavior may ask for.
const (
	MaxMemoryBytes  = 1 << 30
	MaxFuel         = 1 << 53  // units: every number up to it is exact in everybody's JSON
	MaxPayloadBytes = 16 << 20 // params, result, checkpoint (SPEC H3)
	MaxLogBytes     = 1 << 20
	MaxRunTimeout   = 30 * 24 * time.Hour
	MaxCancelGrace  = time.Hour
	MinRepeatEvery  = 100 * time.Millisecond
	maxCount        = math.MaxInt32
	maxInterval     = 365 * 24 * time.Hour
)

// Defaults of a manifest that says nothing (SPEC B1, R2, R3, L7, L8, T9, H3).
const (
	DefaultMemoryBytes     = 64 << 20
	DefaultParamsBytes     = MaxPayloadBytes
	DefaultResultBytes     = MaxPayloadBytes
	DefaultCheckpointBytes = MaxPayloadBytes
	DefaultLogBytes        = 64 << 10

	DefaultRunTimeout  = time.Hour
	DefaultCancelGrace = 5 * time.Second
	DefaultMaxLost     = 10
	DefaultMaxPerKey   = 1 // with a concurrency_key

	DefaultMaxAttempts           = 1
	DefaultInitialInterval       = time.Second
	DefaultMultiplierThousandths = 2000
	DefaultMaxInterval           = time.Hour
	DefaultJitterPercent         = 10
)
