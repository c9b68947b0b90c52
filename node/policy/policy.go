package policy

import (
	"encoding/json"
	"time"

	"github.com/taskrt/taskrt/runtime/manifest"
	"github.com/taskrt/taskrt/task"
)

// Of turns the settings of a manifest, with defaults filled in, into what the log carries (SPEC B1).
func Of(s manifest.Settings) task.Policy {
	return task.Policy{
		Index: s.Index, Description: s.Description,
		IDStrategy: idStrategy(s.IDStrategy), IDFrom: s.IDFrom,
		Retry: task.Retry{
			MaxAttempts: s.MaxAttempts, InitialInterval: millis(s.InitialInterval),
			MultiplierThousandth: s.MultiplierThousandths, MaxInterval: millis(s.MaxInterval), JitterPercent: s.JitterPercent,
		},
		RunTimeout: millis(s.RunTimeout), HeartbeatTimeout: millis(s.HeartbeatTimeout), CancelGrace: millis(s.CancelGrace),
		Limits: task.Limits{
			MemoryBytes: s.MemoryBytes, Fuel: s.Fuel, ParamsBytes: s.ParamsBytes, ResultBytes: s.ResultBytes,
			CheckpointBytes: s.CheckpointBytes, LogBytes: s.LogBytes,
		},
		OnTrap: onError(s.OnTrap), OnTimeout: onError(s.OnTimeout), OnExhausted: onError(s.OnExhausted),
		ResultRequired: s.ResultRequired, MaxLost: s.MaxLost,
		KeepSuccess: millis(s.KeepSuccess), KeepFailure: millis(s.KeepFailure), KeepCount: s.KeepCount,
		ParamsSchema: s.ParamsSchema, ResultSchema: s.ResultSchema,
		RepeatEvery: millis(s.RepeatEvery), RepeatAny: s.RepeatAny,
		MaxConcurrent: s.MaxConcurrent, ConcurrencyKey: s.ConcurrencyKey, MaxPerKey: s.MaxPerKey, KeyStrict: s.KeyStrict,
		Lease: millis(s.Lease), Operation: operationPolicy(s.Operation),
	}
}

func idStrategy(word string) task.IDStrategy {
	switch word {
	case "params":
		return task.IDParams
	case "caller":
		return task.IDCaller
	}
	return task.IDRandom
}

func idStrategyWord(s task.IDStrategy) string {
	switch s {
	case task.IDParams:
		return "params"
	case task.IDCaller:
		return "caller"
	}
	return "random"
}

func onError(word string) task.OnError {
	switch word {
	case "retry":
		return task.OnErrorRetry
	case "fail":
		return task.OnErrorFail
	}
	return task.OnErrorDefault
}

// Manifest is the way back: a behavior's entry of the manifest as the API shows it, with every default filled in. The
// entry of an external behavior can be put again as it is.
func Manifest(name string, v *task.Version) (json.RawMessage, error) {
	b := entryOf(name, &v.Policy)
	if v.Module != "" {
		return json.Marshal(b)
	}
	b.OnTrap, b.OnExhausted, b.HeartbeatTimeout = "", "", nil
	b.Limits.MemoryBytes, b.Limits.LogBytes = nil, nil
	return json.Marshal(manifest.External{Kind: manifest.KindExternal, Lease: duration(v.Policy.Lease), Behavior: b})
}

func entryOf(name string, p *task.Policy) manifest.Behavior {
	b := manifest.Behavior{
		Name: name, Description: p.Description,
		ID: &manifest.ID{Strategy: idStrategyWord(p.IDStrategy), From: p.IDFrom},
		Retry: &manifest.Retry{
			MaxAttempts: &p.Retry.MaxAttempts, InitialInterval: duration(p.Retry.InitialInterval),
			MultiplierThousandths: &p.Retry.MultiplierThousandth, MaxInterval: duration(p.Retry.MaxInterval),
			JitterPercent: &p.Retry.JitterPercent,
		},
		RunTimeout: duration(p.RunTimeout), HeartbeatTimeout: given(p.HeartbeatTimeout), CancelGrace: duration(p.CancelGrace),
		RepeatEvery: given(p.RepeatEvery),
		Limits: &manifest.Limits{
			MemoryBytes: &p.Limits.MemoryBytes, ParamsBytes: &p.Limits.ParamsBytes, ResultBytes: &p.Limits.ResultBytes,
			CheckpointBytes: &p.Limits.CheckpointBytes, LogBytes: &p.Limits.LogBytes,
		},
		OnTrap: onErrorWord(p.OnTrap, "retry"), OnTimeout: onErrorWord(p.OnTimeout, "retry"),
		OnExhausted: onErrorWord(p.OnExhausted, "fail"),
		MaxLost:     &p.MaxLost, Retention: retentionEntry(p),
		ConcurrencyKey: p.ConcurrencyKey,
		Result:         "optional", ParamsSchema: p.ParamsSchema, ResultSchema: p.ResultSchema,
	}
	if p.ResultRequired {
		b.Result = "required"
	}
	switch {
	case p.RepeatEvery > 0 && p.RepeatAny:
		b.RepeatOn = "any"
	case p.RepeatEvery > 0:
		b.RepeatOn = "success"
	}
	if p.Limits.Fuel > 0 {
		b.Limits.Fuel = &p.Limits.Fuel
	}
	if p.MaxConcurrent > 0 {
		b.MaxConcurrent = &p.MaxConcurrent
	}
	if p.ConcurrencyKey != "" {
		b.MaxPerKey = &p.MaxPerKey
	}
	if p.KeyStrict {
		b.KeyOrder = "strict"
	}
	if p.Operation != nil { // leave out what an operation's manifest cannot say: what is shown can be pushed
		b.ID, b.Operation = nil, operationEntry(p.Operation)
	}
	return b
}

// retentionEntry returns nil if the manifest says nothing of retention, so that the namespace's retention counts.
func retentionEntry(p *task.Policy) *manifest.Retention {
	r := manifest.Retention{Success: keep(p.KeepSuccess), Failure: keep(p.KeepFailure)}
	if p.KeepCount > 0 {
		r.Count = &p.KeepCount
	}
	if r == (manifest.Retention{}) {
		return nil
	}
	return &r
}

func keep(m task.Millis) *manifest.Keep {
	switch {
	case m == 0:
		return nil
	case m < 0:
		return new(manifest.Forever)
	}
	return (*manifest.Keep)(duration(m))
}

// given returns nil for 0, which means "none" and cannot be said in a manifest.
func given(m task.Millis) *manifest.Duration {
	if m == 0 {
		return nil
	}
	return duration(m)
}

// onErrorWord names a choice. byDefault is what SPEC R2 says if the manifest says nothing.
func onErrorWord(o task.OnError, byDefault string) string {
	switch o {
	case task.OnErrorRetry:
		return "retry"
	case task.OnErrorFail:
		return "fail"
	}
	return byDefault
}

func millis(d time.Duration) task.Millis { return task.Millis(d.Milliseconds()) }

func duration(m task.Millis) *manifest.Duration {
	d := manifest.Duration(time.Duration(m) * time.Millisecond)
	return &d
}
