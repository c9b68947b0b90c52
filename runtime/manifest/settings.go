package manifest

import (
	"fmt"
	"slices"
	"time"
)

// Settings is a behavior with every default filled in. Its values are plain, so that others can make a policy of them.
type Settings struct {
	Name        string
	Description string
	Index       int32

	IDStrategy string // "random", "params" or "caller"
	IDFrom     []string

	MaxAttempts           int64
	InitialInterval       time.Duration
	MultiplierThousandths int64
	MaxInterval           time.Duration
	JitterPercent         int64

	RunTimeout       time.Duration
	HeartbeatTimeout time.Duration // 0: none
	CancelGrace      time.Duration
	RepeatEvery      time.Duration // 0: no repeat
	RepeatAny        bool          // after a final failure too
	Lease            time.Duration // external behaviors only, else 0 (SPEC L2)

	MaxConcurrent  int64  // 0: no limit
	ConcurrencyKey string // JSON pointer into params; "": none
	MaxPerKey      int64  // 0: no limit
	KeyStrict      bool

	MemoryBytes     int64
	Fuel            int64 // units; 0: no limit
	ParamsBytes     int64
	ResultBytes     int64
	CheckpointBytes int64
	LogBytes        int64

	OnTrap      string // "retry", "fail"; "": not given, the default of SPEC R2 holds
	OnTimeout   string
	OnExhausted string

	MaxLost        int64
	KeepSuccess    time.Duration // 0: not given; < 0: for ever
	KeepFailure    time.Duration
	KeepCount      int64 // 0: no limit
	ResultRequired bool
	ParamsSchema   []byte // JSON Schema 2020-12; nil: none
	ResultSchema   []byte
	Operation      *OperationSettings // nil: no operation can be started of it
}

// Settings returns behavior i with every default filled in.
func (m *Manifest) Settings(i int) Settings { return m.Behaviors[i].settings(i) }

func (b *Behavior) settings(i int) Settings {
	s := Settings{
		Name: b.Name, Description: b.Description, Index: int32(i),
		IDStrategy:       "random",
		RunTimeout:       durationOr(b.RunTimeout, DefaultRunTimeout),
		HeartbeatTimeout: durationOr(b.HeartbeatTimeout, 0),
		CancelGrace:      durationOr(b.CancelGrace, DefaultCancelGrace),
		RepeatEvery:      durationOr(b.RepeatEvery, 0), RepeatAny: b.RepeatOn == "any",
		MaxConcurrent: numberOr(b.MaxConcurrent, 0), ConcurrencyKey: b.ConcurrencyKey,
		KeyStrict: b.KeyOrder == "strict",
		OnTrap:    b.OnTrap, OnTimeout: b.OnTimeout, OnExhausted: b.OnExhausted,
		MaxLost:        numberOr(b.MaxLost, DefaultMaxLost),
		ResultRequired: b.Result == "required",
		ParamsSchema:   slices.Clone(b.ParamsSchema), ResultSchema: slices.Clone(b.ResultSchema),
		Operation: b.Operation.settings(),
	}
	if b.ID != nil && b.ID.Strategy != "" {
		s.IDStrategy, s.IDFrom = b.ID.Strategy, slices.Clone(b.ID.From)
	}
	if b.ConcurrencyKey != "" {
		s.MaxPerKey = numberOr(b.MaxPerKey, DefaultMaxPerKey)
	}
	r := orZero(b.Retry)
	s.MaxAttempts = numberOr(r.MaxAttempts, DefaultMaxAttempts)
	s.InitialInterval = durationOr(r.InitialInterval, DefaultInitialInterval)
	s.MultiplierThousandths = numberOr(r.MultiplierThousandths, DefaultMultiplierThousandths)
	s.MaxInterval = durationOr(r.MaxInterval, DefaultMaxInterval)
	s.JitterPercent = numberOr(r.JitterPercent, DefaultJitterPercent)

	l := orZero(b.Limits)
	s.MemoryBytes = numberOr(l.MemoryBytes, DefaultMemoryBytes)
	s.Fuel = numberOr(l.Fuel, 0)
	s.ParamsBytes = numberOr(l.ParamsBytes, DefaultParamsBytes)
	s.ResultBytes = numberOr(l.ResultBytes, DefaultResultBytes)
	s.CheckpointBytes = numberOr(l.CheckpointBytes, DefaultCheckpointBytes)
	s.LogBytes = numberOr(l.LogBytes, DefaultLogBytes)

	k := orZero(b.Retention)
	s.KeepSuccess, s.KeepFailure, s.KeepCount = k.Success.orNothing(), k.Failure.orNothing(), numberOr(k.Count, 0)
	return s
}

// CheckParams refuses the params that a submit of the behavior refuses: params over the limit, and params that do not
// match the schema. Absent params are null.
func (s *Settings) CheckParams(params []byte) error {
	if n := int64(len(params)); n > s.ParamsBytes {
		return fmt.Errorf("params have %d bytes, behavior %s takes at most %d", n, s.Name, s.ParamsBytes)
	}
	if len(params) == 0 {
		params = []byte("null")
	}
	if err := new(Schemas).Check(s.ParamsSchema, params); err != nil {
		return fmt.Errorf("params: %w", err)
	}
	return nil
}

// orNothing is 0 for a time that is not given, and the shortest time there is for "0s".
func (k *Keep) orNothing() time.Duration {
	switch {
	case k == nil:
		return 0
	case *k == 0:
		return time.Millisecond
	}
	return time.Duration(*k)
}

func orZero[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

func numberOr(p *int64, d int64) int64 {
	if p == nil {
		return d
	}
	return *p
}

func durationOr(p *Duration, d time.Duration) time.Duration {
	if p == nil {
		return d
	}
	return time.Duration(*p)
}
