package manifest

import (
	"time"
)

// KindExternal is the kind of a behavior without a module (SPEC B7).
const KindExternal = "external"

// Limits of an external behavior's lease (SPEC L2).
const (
	MinLease     = time.Second
	MaxLease     = time.Hour
	DefaultLease = 30 * time.Second
)

// External is an external behavior as PUT /v1/behaviors/{name} defines it: kind and lease, beside those fields of a
// manifest's behavior that need no module (SPEC B7, J1).
type External struct {
	Kind  string    `json:"kind"`
	Lease *Duration `json:"lease,omitempty"`
	Behavior
}

// moduleFields are fields of a behavior, and of its limits, that only a module can have.
var (
	moduleFields = [...]string{"heartbeat_timeout", "on_trap", "on_exhausted", "operation"}
	moduleLimits = [...]string{"memory_bytes", "fuel", "log_bytes"}
)

// ParseExternal decodes and validates the definition of an external behavior. It is as strict as Parse, and refuses
// fields that need a module by their names. A name in the definition must be the given name.
func ParseExternal(name string, data []byte) (*External, error) {
	v, err := decodeDocument(data)
	if err != nil {
		return nil, err
	}
	f := objectOf(v, "", &err)
	if _, ok := f.left["kind"]; !ok && err == nil {
		f.fail("kind", "is required: %q", KindExternal)
	}
	x := &External{Kind: f.oneOf("kind", KindExternal), Lease: f.duration("lease", MinLease, MaxLease)}
	f.refuse(moduleFields[:])
	if limits, ok := f.left["limits"].(map[string]any); ok {
		objectOf(limits, "limits", &err).refuse(moduleLimits[:])
	}
	x.Behavior = parseBehavior(f)
	switch {
	case err != nil:
	case x.Name != "" && x.Name != name:
		f.fail("name", "is %q, but the behavior is %q", x.Name, name)
	case !behaviorName.MatchString(name):
		err = badName("name", name)
	}
	if err != nil {
		return nil, err
	}
	x.Name = name
	return x, nil
}

func (f *fields) refuse(names []string) {
	for _, name := range names {
		if _, ok := f.left[name]; ok {
			f.fail(name, "needs a module; an external behavior has none")
		}
	}
}

// Canonical returns the definition's JSON, which is the same for equal definitions.
func (x *External) Canonical() ([]byte, error) { return compact(x) }

// Settings returns the definition with every default filled in.
func (x *External) Settings() Settings {
	s := x.settings(0)
	s.Lease = durationOr(x.Lease, DefaultLease)
	return s
}
