package manifest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime/upload"
)

// capabilities are what a manifest may require: this host has them.
var capabilities = [...]string{"blob", "checkpoint", "partitions", "random", "spans", abi.CapabilityHTTP, abi.CapabilitySecrets, abi.CapabilityTasks}

var behaviorName = regexp.MustCompile(`^[a-z0-9._-]{3,128}$`)

// Parse decodes and validates a manifest. Unknown fields, numbers out of range and everything else that is wrong are
// an *upload.Error that names the field. A behavior may lack a name only in a manifest of one behavior: SetName gives
// it the name of the upload.
func Parse(data []byte) (*Manifest, error) {
	v, err := decodeDocument(data)
	if err != nil {
		return nil, err
	}
	f := objectOf(v, "", &err)
	m := &Manifest{Schema: SchemaVersion}
	if n := f.number("schema", 1, maxCount); n != nil && *n != SchemaVersion {
		f.fail("schema", "is %d; this host knows %d", *n, SchemaVersion)
	}
	m.Requires = f.strings("requires", maxCapabilities)
	for i, b := range f.list("behaviors", MaxBehaviors) {
		m.Behaviors = append(m.Behaviors, parseBehavior(objectOf(b, fmt.Sprintf("behaviors[%d]", i), &err)))
	}
	f.end()
	if err == nil {
		err = m.checkNames()
	}
	for i := 0; err == nil && i < len(m.Behaviors); i++ {
		err = m.checkOperation(i, fmt.Sprintf("behaviors[%d]", i))
	}
	if err == nil {
		err = m.checkCapabilities()
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// decodeDocument decodes a manifest, or the definition of an external behavior.
func decodeDocument(data []byte) (any, error) {
	if len(data) > MaxBytes {
		return nil, &upload.Error{
			Code: upload.BadManifest, Limit: MaxBytes,
			Message: fmt.Sprintf("takes %d bytes, more than %d", len(data), MaxBytes),
		}
	}
	return decodeJSON(data)
}

func (m *Manifest) checkNames() error {
	if len(m.Behaviors) == 0 {
		return badManifest("behaviors", "there is no behavior")
	}
	for i, b := range m.Behaviors {
		field := fmt.Sprintf("behaviors[%d].name", i)
		if b.Name == "" && len(m.Behaviors) == 1 {
			continue
		}
		if !behaviorName.MatchString(b.Name) {
			return badName(field, b.Name)
		}
		if j := slices.IndexFunc(m.Behaviors, func(o Behavior) bool { return o.Name == b.Name }); j < i {
			return badManifest(field, "%q is the name of behaviors[%d] too", b.Name, j)
		}
	}
	return nil
}

// SetName gives the behavior of a manifest the name of the upload, if the upload has one.
func (m *Manifest) SetName(name string) error {
	switch {
	case name == "" && m.Behaviors[0].Name == "":
		return badManifest("behaviors[0].name", "the behavior has no name, and none was given at upload")
	case name == "":
		return nil
	case len(m.Behaviors) > 1:
		return badManifest("name", "a name was given at upload, but the module has %d behaviors with names of their own", len(m.Behaviors))
	case !behaviorName.MatchString(name):
		return badName("name", name)
	}
	m.Behaviors[0].Name = name
	return nil
}

func badName(field, name string) error {
	return badManifest(field, "a behavior's name is 3 to 128 characters of a-z, 0-9, '.', '_' and '-', not %q", name)
}

func (m *Manifest) checkCapabilities() error {
	for i, c := range m.Requires {
		if !slices.Contains(capabilities[:], c) {
			return upload.Errorf(upload.UnknownCapability, fmt.Sprintf("requires[%d]", i),
				"this host has no capability %q; it has %s", c, strings.Join(capabilities[:], ", "))
		}
	}
	return nil
}

func parseBehavior(f *fields) Behavior {
	var b Behavior
	b.Name, _ = f.string("name")
	b.Description, _ = f.string("description")
	if len(b.Description) > MaxDescription {
		f.fail("description", "takes %d bytes, more than %d", len(b.Description), MaxDescription)
		f.limit(MaxDescription)
	}
	b.Operation = parseOperation(f)
	if o, ok := f.object("id"); ok {
		b.ID = parseID(o)
	}
	if o, ok := f.object("retry"); ok {
		b.Retry = &Retry{
			MaxAttempts:           o.number("max_attempts", 0, maxCount),
			InitialInterval:       o.duration("initial_interval", 0, maxInterval),
			MultiplierThousandths: o.number("multiplier_thousandths", 1000, 100_000),
			MaxInterval:           o.duration("max_interval", 0, maxInterval),
			JitterPercent:         o.number("jitter_percent", 0, 100),
		}
		o.end()
	}
	b.RunTimeout = f.duration("run_timeout", time.Millisecond, MaxRunTimeout)
	b.HeartbeatTimeout = f.duration("heartbeat_timeout", 0, MaxRunTimeout)
	b.CancelGrace = f.duration("cancel_grace", 0, MaxCancelGrace)
	parseRepeat(f, &b)
	parseConcurrency(f, &b)
	if o, ok := f.object("limits"); ok {
		b.Limits = &Limits{
			MemoryBytes:     o.number("memory_bytes", 64<<10, MaxMemoryBytes),
			Fuel:            o.number("fuel", 1, MaxFuel),
			ParamsBytes:     o.number("params_bytes", 1, MaxPayloadBytes),
			ResultBytes:     o.number("result_bytes", 1, MaxPayloadBytes),
			CheckpointBytes: o.number("checkpoint_bytes", 1, MaxPayloadBytes),
			LogBytes:        o.number("log_bytes", 1, MaxLogBytes),
		}
		o.end()
	}
	b.OnTrap = f.oneOf("on_trap", "retry", "fail")
	b.OnTimeout = f.oneOf("on_timeout", "retry", "fail")
	b.OnExhausted = f.oneOf("on_exhausted", "retry", "fail")
	b.MaxLost = f.number("max_lost", 1, maxCount)
	if o, ok := f.object("retention"); ok {
		b.Retention = &Retention{Success: o.keep("success"), Failure: o.keep("failure"), Count: o.number("count", 0, maxCount)}
		o.end()
	}
	b.Result = f.oneOf("result", "optional", "required")
	b.ParamsSchema = f.schema("params_schema", MaxSchemaBytes)
	b.ResultSchema = f.schema("result_schema", MaxSchemaBytes)
	f.end()
	return b
}

func parseRepeat(f *fields, b *Behavior) {
	b.RepeatEvery = f.duration("repeat_every", MinRepeatEvery, maxInterval)
	if b.RepeatOn = f.oneOf("repeat_on", "success", "any"); b.RepeatOn != "" && b.RepeatEvery == nil {
		f.fail("repeat_on", "needs repeat_every")
	}
}

// parseConcurrency reads the limits of SPEC L11. The empty pointer is refused: it stands for the whole of the params,
// which deterministic IDs are for, and it reads like "no key".
func parseConcurrency(f *fields, b *Behavior) {
	b.MaxConcurrent = f.number("max_concurrent", 1, maxCount)
	pointer, ok := f.string("concurrency_key")
	switch {
	case ok && pointer == "":
		f.fail("concurrency_key", "must not be empty; leave it out for no key")
	case ok:
		checkPointer(f, "concurrency_key", pointer)
	}
	b.ConcurrencyKey = pointer
	b.MaxPerKey = f.number("max_per_key", 1, maxCount)
	b.KeyOrder = f.oneOf("key_order", "strict")
	switch {
	case ok:
	case b.MaxPerKey != nil:
		f.fail("max_per_key", "needs concurrency_key")
	case b.KeyOrder != "":
		f.fail("key_order", "needs concurrency_key")
	}
}

func checkPointer(f *fields, field, p string) {
	if len(p) > MaxPointerBytes {
		f.fail(field, "takes %d bytes, more than %d", len(p), MaxPointerBytes)
		f.limit(MaxPointerBytes)
	}
	if !isPointer(p) {
		f.fail(field, "%q is no JSON pointer (RFC 6901): it must be empty or begin with /, and ~ must be ~0 or ~1", p)
	}
}

func parseID(f *fields) *ID {
	id := &ID{Strategy: f.oneOf("strategy", "random", "params", "caller"), From: f.strings("from", MaxPointers)}
	if len(id.From) > 0 && id.Strategy != "params" {
		f.fail("from", "needs strategy \"params\"")
	}
	for i, p := range id.From {
		checkPointer(f, fmt.Sprintf("from[%d]", i), p)
	}
	f.end()
	return id
}

func isPointer(p string) bool {
	if p != "" && p[0] != '/' {
		return false
	}
	for i := range len(p) {
		if p[i] == '~' && (i+1 == len(p) || (p[i+1] != '0' && p[i+1] != '1')) {
			return false
		}
	}
	return true
}

// UnmarshalJSON is as strict as Parse.
func (m *Manifest) UnmarshalJSON(data []byte) error {
	parsed, err := Parse(data)
	if err == nil {
		*m = *parsed
	}
	return err
}

// Canonical returns the manifest's JSON, which is the same for equal manifests.
func (m *Manifest) Canonical() ([]byte, error) { return compact(m) }
