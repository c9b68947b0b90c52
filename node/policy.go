package node

import (
	"encoding/json"
	"time"

	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task"
)

// policyOf turns what a manifest says, defaults filled in, into what the log carries (SPEC B1).
func policyOf(s runtime.Settings) task.Policy {
	return task.Policy{
		Index: s.Index, Description: s.Description,
		IDStrategy: idStrategy(s.IDStrategy), IDFrom: s.IDFrom,
		Retry: task.Retry{
			MaxAttempts: s.MaxAttempts, InitialInterval: millis(s.InitialInterval),
			MultiplierThousandth: s.MultiplierThousandths, MaxInterval: millis(s.MaxInterval), JitterPercent: s.JitterPercent,
		},
		RunTimeout: millis(s.RunTimeout), HeartbeatTimeout: millis(s.HeartbeatTimeout), CancelGrace: millis(s.CancelGrace),
		Limits: task.Limits{
			MemoryBytes: s.MemoryBytes, ParamsBytes: s.ParamsBytes, ResultBytes: s.ResultBytes,
			CheckpointBytes: s.CheckpointBytes, LogBytes: s.LogBytes,
		},
		OnTrap: onError(s.OnTrap), OnTimeout: onError(s.OnTimeout), OnExhausted: onError(s.OnExhausted),
		ResultRequired: s.ResultRequired, MaxLost: s.MaxLost,
		KeepSuccess: millis(s.KeepSuccess), KeepFailure: millis(s.KeepFailure),
		ParamsSchema: s.ParamsSchema, ResultSchema: s.ResultSchema,
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

// manifestOf is the way back: a behavior's entry of the manifest with every default filled in, as the API shows it.
func manifestOf(name string, p *task.Policy) (json.RawMessage, error) {
	b := runtime.Behavior{
		Name: name, Description: p.Description,
		ID: &runtime.ID{Strategy: idStrategyWord(p.IDStrategy), From: p.IDFrom},
		Retry: &runtime.Retry{
			MaxAttempts: &p.Retry.MaxAttempts, InitialInterval: duration(p.Retry.InitialInterval),
			MultiplierThousandths: &p.Retry.MultiplierThousandth, MaxInterval: duration(p.Retry.MaxInterval),
			JitterPercent: &p.Retry.JitterPercent,
		},
		RunTimeout: duration(p.RunTimeout), CancelGrace: duration(p.CancelGrace),
		Limits: &runtime.Limits{
			MemoryBytes: &p.Limits.MemoryBytes, ParamsBytes: &p.Limits.ParamsBytes, ResultBytes: &p.Limits.ResultBytes,
			CheckpointBytes: &p.Limits.CheckpointBytes, LogBytes: &p.Limits.LogBytes,
		},
		OnTrap: onErrorWord(p.OnTrap, "retry"), OnTimeout: onErrorWord(p.OnTimeout, "retry"),
		OnExhausted: onErrorWord(p.OnExhausted, "fail"),
		MaxLost:     &p.MaxLost, Retention: &runtime.Retention{Success: duration(p.KeepSuccess), Failure: duration(p.KeepFailure)},
		Result: "optional", ParamsSchema: p.ParamsSchema, ResultSchema: p.ResultSchema,
	}
	if p.HeartbeatTimeout > 0 {
		b.HeartbeatTimeout = duration(p.HeartbeatTimeout)
	}
	if p.ResultRequired {
		b.Result = "required"
	}
	return json.Marshal(b)
}

// onErrorWord names a choice; byDefault is what SPEC R2 says when the manifest says nothing.
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

func duration(m task.Millis) *runtime.Duration {
	d := runtime.Duration(time.Duration(m) * time.Millisecond)
	return &d
}
