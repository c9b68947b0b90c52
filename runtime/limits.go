package runtime

import "time"

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

// Limits of the ABI's small channels, in bytes.
const (
	MaxErrorDetail = 16 << 10
	MaxNote        = 4 << 10
	MaxNextTime    = 20
	MaxManifest    = 1 << 20
	MaxRandom      = 64 << 10
)

func (a Attempt) withDefaults() Attempt {
	def := func(v *int64, d int64) {
		if *v <= 0 {
			*v = d
		}
	}
	def(&a.MemoryBytes, DefaultMemoryBytes)
	def(&a.ResultBytes, DefaultResultBytes)
	def(&a.CheckpointBytes, DefaultCheckpointBytes)
	def(&a.LogBytes, DefaultLogBytes)
	if a.RunTimeout <= 0 {
		a.RunTimeout = DefaultRunTimeout
	}
	if a.Info == nil && a.MakeInfo == nil {
		a.Info = []byte("{}")
	}
	return a
}
