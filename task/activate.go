package task

import (
	"slices"

	"github.com/taskrt/taskrt/task/names"
)

// Activate makes a module's behaviors active in one log entry (SPEC B2).
type Activate struct {
	Namespace string      `cbor:"1,keyasint"`
	Module    Module      `cbor:"2,keyasint"`
	Behaviors []Activated `cbor:"3,keyasint"`

	// Noted says that the proposer has noted the module's file as a blob. Without the blob's record the command is refused as blob_gone. Logs from
	// before there were records of blobs do not say so. In them the module brings the record of its file.
	Noted bool `cbor:"4,keyasint,omitempty"`
}

// Activated is one behavior of an Activate.
type Activated struct {
	Name   string `cbor:"1,keyasint"`
	Policy Policy `cbor:"2,keyasint"`
}

func (c Activate) apply(m *Machine) Result {
	if r, ok := c.check(m); !ok {
		return r
	}
	changed := false
	for i := range c.Behaviors {
		b := m.behaviorRow(c.Namespace, c.Behaviors[i].Name)
		if old := b.live(); old != nil && old.Active == c.Module.Version {
			continue
		}
		m.activate(b, Version{
			Version: c.Module.Version, Module: c.Module.Digest, Policy: c.Behaviors[i].Policy, ActivatedAt: m.now,
		})
		changed = true
	}
	if changed {
		if !Native(c.Module.Digest) {
			m.putModule(&c.Module)
		}
		m.dropModules()
	}
	return Result{Changed: changed}
}

func (c *Activate) check(m *Machine) (Result, bool) {
	if r, ok := m.writable(c.Namespace); !ok {
		return r, false
	}
	switch {
	case c.Module.Digest == "" || c.Module.Version == "":
		return invalid("module", "a module has a digest and a version"), false
	case len(c.Behaviors) == 0:
		return invalid("behaviors", "a module has at least one behavior"), false
	}
	seen := make(map[string]bool, len(c.Behaviors))
	for i := range c.Behaviors {
		name := c.Behaviors[i].Name
		if !names.IsBehavior(name) {
			return invalid("behaviors", "a behavior name is 3 to 128 characters of a-z 0-9 . _ -"), false
		}
		if seen[name] {
			return invalid("behaviors", "two behaviors have the same name"), false
		}
		seen[name] = true
		if b := m.behaviors[behaviorName{c.Namespace, name}].live(); b != nil && b.External {
			return otherKind("the behavior " + name + " is external: delete it first"), false
		}
	}
	return m.admitModule(c.Module.Digest, c.Noted)
}

// activate makes v the active version of b. A known version becomes the newest again, with the policy of its pinned tasks. The last KeptVersions
// stay, and also the versions that tasks are pinned to (SPEC B2). A deleted behavior is there again, and not paused (SPEC B8).
func (m *Machine) activate(b *behaviorRow, v Version) {
	next := &Behavior{Active: v.Version, External: v.Module == ""}
	if old := b.behavior; old != nil {
		next.Paused = old.Paused && !old.Deleted
		for i := range old.Versions {
			if known := old.Versions[i]; known.Version == v.Version {
				v.Policy = known.Policy
			} else {
				next.Versions = append(next.Versions, known)
			}
		}
	}
	next.Versions = b.kept(append(next.Versions, v), KeptVersions)
	m.putBehavior(b, next)
}

// kept returns the last n versions and the versions that tasks are pinned to.
func (b *behaviorRow) kept(versions []Version, n int) []Version {
	kept, surplus := versions[:0], len(versions)-n
	for i, v := range versions {
		if i >= surplus || b.pins[v.Version] > 0 || b.held[v.Version] > 0 {
			kept = append(kept, v)
		}
	}
	return slices.Clip(kept)
}

// putModule stores the module's record. If one file was uploaded with two manifests, the later manifest describes it.
func (m *Machine) putModule(x *Module) {
	if old := m.modules[x.Digest]; old != nil {
		m.sum -= hashModule(old)
		m.counts.Modules--
	}
	module := *x
	m.sum += hashModule(&module)
	known := m.modules[x.Digest] != nil
	m.modules[x.Digest] = &module
	m.counts.Modules++
	if !known {
		m.referModule(&module)
	}
}

// dropModules forgets the modules that no kept version needs.
func (m *Machine) dropModules() {
	needed := make(map[string]bool, len(m.modules))
	for _, b := range m.byName {
		if b.behavior == nil {
			continue
		}
		for i := range b.behavior.Versions {
			needed[b.behavior.Versions[i].Module] = true
		}
	}
	for digest, x := range m.modules { // order-free: each module is decided alone, and the sum commutes
		if !needed[digest] {
			m.sum -= hashModule(x)
			m.counts.Modules--
			delete(m.modules, digest)
			m.releaseModule(x)
		}
	}
}

// version returns the version that a task pinned to v would run, or nil.
func (m *Machine) version(b *behaviorRow, v string) *Version {
	if b == nil || b.behavior == nil {
		return nil
	}
	found, ok := b.behavior.Find(v)
	if !ok {
		return nil
	}
	return found
}
