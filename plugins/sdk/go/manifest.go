package sdk

import (
	"slices"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/plugins/sdk/go/internal/host"
	"github.com/taskrt/taskrt/plugins/sdk/go/tinyjson"
)

// requires are the capabilities of the manifest, in order.
var requires []string

// Require says that the module needs a capability. A host that does not have it, or whose operator does not grant it,
// refuses the upload (docs/plugin-manifest.md). Call it in init. Packages secrets, sdkhttp and tasks call it
// themselves.
func Require(capability string) {
	if i, there := slices.BinarySearch(requires, capability); !there {
		requires = slices.Insert(requires, i, capability)
	}
}

// describe answers the export taskrt_describe: it writes the manifest (SPEC B1).
func describe(h host.Host) {
	m := manifest(registry)
	if n := h.Write(abi.Manifest, m); n < 0 {
		panic("sdk: the manifest was refused: " + statusText(abi.Errno(n)))
	}
}

// manifest is the JSON of SPEC B1. Fields at their zero value are left out: the host fills in its defaults.
func manifest(behaviors []Behavior) []byte {
	w := fields{buf: []byte(`{"schema":1`)}
	w.strings("requires", requires)
	w.name("behaviors")
	w.buf = append(w.buf, '[')
	for i := range behaviors {
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		w.object(func() { w.behavior(&behaviors[i]) })
	}
	return append(w.buf, "]}"...)
}

// fields appends members to a JSON object. It leaves out members that are zero.
type fields struct{ buf []byte }

func (w *fields) behavior(b *Behavior) {
	w.str("name", b.Name)
	w.str("description", b.Description)
	if b.ID.Strategy != "" || len(b.ID.From) > 0 {
		w.member("id", func() { w.id(b.ID) })
	}
	if b.Retry != (Retry{}) {
		w.member("retry", func() { w.retry(b.Retry) })
	}
	w.duration("run_timeout", b.RunTimeout)
	w.duration("heartbeat_timeout", b.HeartbeatTimeout)
	w.duration("cancel_grace", b.CancelGrace)
	w.duration("repeat_every", b.RepeatEvery)
	if b.RepeatOnError {
		w.str("repeat_on", "any")
	}
	if b.Limits != (Limits{}) {
		w.member("limits", func() {
			w.integer("memory_bytes", b.Limits.Memory)
			w.integer("fuel", b.Limits.Fuel)
			w.integer("params_bytes", b.Limits.Params)
			w.integer("result_bytes", b.Limits.Result)
			w.integer("checkpoint_bytes", b.Limits.Checkpoint)
			w.integer("log_bytes", b.Limits.Log)
		})
	}
	if b.Operation != nil {
		w.member("operation", func() { w.operation(b.Operation) })
	}
	w.str("on_trap", string(b.OnTrap))
	w.str("on_timeout", string(b.OnTimeout))
	w.str("on_exhausted", string(b.OnExhausted))
	w.integer("max_lost", int64(b.MaxLost))
	w.integer("max_concurrent", int64(b.Concurrency.Max))
	w.str("concurrency_key", b.Concurrency.Key)
	w.integer("max_per_key", int64(b.Concurrency.PerKey))
	if b.Concurrency.Strict {
		w.str("key_order", "strict")
	}
	if b.KeepSuccess != 0 || b.KeepFailure != 0 || b.KeepCount != 0 {
		w.member("retention", func() {
			w.keep("success", b.KeepSuccess)
			w.keep("failure", b.KeepFailure)
			w.integer("count", b.KeepCount)
		})
	}
	if b.ResultRequired {
		w.str("result", "required")
	}
	w.raw("params_schema", b.ParamsSchema)
	w.raw("result_schema", b.ResultSchema)
}

func (w *fields) id(id ID) {
	w.str("strategy", string(id.Strategy))
	w.strings("from", id.From)
}

func (w *fields) operation(o *Operation) {
	w.str("concurrency", string(o.Concurrency))
	w.strings("incompatible_with", o.IncompatibleWith)
	if o.RunAll {
		w.str("on_failure", "run_all")
	}
	if o.Restart {
		w.str("resume", "restart")
	}
	w.str("complete", o.Complete)
	w.str("cleanup", o.Cleanup)
}

func (w *fields) keep(name string, d Duration) {
	if d == Forever {
		w.str(name, "never")
	} else {
		w.duration(name, d)
	}
}

func (w *fields) retry(r Retry) {
	if r.MaxAttempts == Unlimited {
		w.zero("max_attempts")
	} else {
		w.integer("max_attempts", int64(r.MaxAttempts))
	}
	w.duration("initial_interval", r.InitialInterval)
	w.integer("multiplier_thousandths", int64(r.MultiplierThousandths))
	w.duration("max_interval", r.MaxInterval)
	if r.JitterPercent == NoJitter {
		w.zero("jitter_percent")
	} else {
		w.integer("jitter_percent", int64(r.JitterPercent))
	}
}

func (w *fields) object(members func()) {
	w.buf = append(w.buf, '{')
	members()
	w.buf = append(w.buf, '}')
}

func (w *fields) name(name string) { w.buf = tinyjson.AppendMember(w.buf, name) }

func (w *fields) member(name string, members func()) {
	w.name(name)
	w.object(members)
}

func (w *fields) str(name, s string) {
	if s != "" {
		w.name(name)
		w.buf = tinyjson.AppendString(w.buf, s)
	}
}

func (w *fields) strings(name string, list []string) {
	if len(list) == 0 {
		return
	}
	w.name(name)
	w.buf = append(w.buf, '[')
	for i, s := range list {
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		w.buf = tinyjson.AppendString(w.buf, s)
	}
	w.buf = append(w.buf, ']')
}

func (w *fields) integer(name string, n int64) {
	if n != 0 {
		w.name(name)
		w.buf = tinyjson.AppendInt(w.buf, n)
	}
}

func (w *fields) zero(name string) {
	w.name(name)
	w.buf = append(w.buf, '0')
}

func (w *fields) duration(name string, d Duration) {
	if d != 0 {
		w.str(name, string(tinyjson.AppendInt(nil, d.Milliseconds()))+"ms")
	}
}

// raw appends text that is JSON already. If the text makes the manifest invalid, the host refuses the manifest, and says where.
func (w *fields) raw(name, text string) {
	if text != "" {
		w.name(name)
		w.buf = append(w.buf, text...)
	}
}
