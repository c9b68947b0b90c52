package naive

import (
	"maps"
	"slices"

	"github.com/taskrt/taskrt/task"
)

func (m *Model) behavior(c task.Command, got task.Result) task.Result {
	r := task.Result{}
	var k task.Key
	switch c := c.(type) {
	case task.Activate:
		r = m.activate(c)
	case task.PutBehavior:
		k = task.Key{Namespace: c.Namespace, ID: c.Name}
		r = m.put(c)
	case task.ActivateVersion:
		k = task.Key{Namespace: c.Namespace, ID: c.Name}
		r = m.rollback(k, c.Version)
	case task.DeleteBehavior:
		r = m.deleteBehavior(task.Key{Namespace: c.Namespace, ID: c.Name}, c.Purge)
	case task.PauseBehavior:
		k = task.Key{Namespace: c.Namespace, ID: c.Name}
		r = m.pause(k, c.Paused)
	}
	m.dropModules()
	if got.Behavior != nil && r.Code == task.OK && m.Behaviors[k] != nil { // the SPEC does not say which answers carry it
		if r.Behavior = m.Behaviors[k]; r.Behavior.Rev == 0 {
			r.Behavior.Rev = got.Behavior.Rev
		}
	}
	return r
}

// live returns the behavior if it exists and is not deleted.
func (m *Model) live(k task.Key) *task.Behavior {
	if b := m.Behaviors[k]; b != nil && !b.Deleted {
		return b
	}
	return nil
}

// has reports whether the operation may have tasks of the behavior.
func has(o *task.Operation, k task.Key) bool {
	return o.Namespace == k.Namespace && slices.Contains([]string{o.Behavior, o.Policy.Complete, o.Policy.Cleanup}, k.ID)
}

// pinned returns the versions that tasks of the behavior are pinned to, or may be by their operation.
func (m *Model) pinned(k task.Key) map[string]bool {
	pinned := map[string]bool{}
	for _, t := range m.Tasks {
		pinned[t.Version] = pinned[t.Version] || t.Namespace == k.Namespace && t.Behavior == k.ID
	}
	for _, o := range m.Operations {
		pinned[o.Version] = pinned[o.Version] || has(o, k)
	}
	return pinned
}

// define makes v the active version (B2). The last 5 versions stay, and so do the versions to which tasks are pinned.
func (m *Model) define(k task.Key, v task.Version) {
	b := task.Behavior{Namespace: k.Namespace, Name: k.ID, Active: v.Version, External: v.Module == ""}
	v.ActivatedAt = m.Now
	if old := m.Behaviors[k]; old != nil {
		b.Versions = slices.DeleteFunc(slices.Clone(old.Versions), func(o task.Version) bool { return o.Version == v.Version })
		b.Paused = old.Paused && !old.Deleted
	}
	b.Versions = append(b.Versions, v)
	pinned, surplus := m.pinned(k), len(b.Versions)-5
	b.Versions = slices.DeleteFunc(b.Versions, func(v task.Version) bool { surplus--; return surplus >= 0 && !pinned[v.Version] })
	m.Behaviors[k] = &b
}

func (m *Model) activate(c task.Activate) task.Result {
	changed := false
	if code := m.writable(c.Namespace); code != task.OK {
		return task.Result{Code: code}
	}
	for _, a := range c.Behaviors {
		if b := m.live(task.Key{Namespace: c.Namespace, ID: a.Name}); b != nil && b.External {
			return task.Result{Code: task.OtherKind}
		}
	}
	if code := m.moduleFile(c.Module.Digest, c.Noted); code != task.OK {
		return task.Result{Code: code}
	}
	for _, a := range c.Behaviors {
		k := task.Key{Namespace: c.Namespace, ID: a.Name}
		if b := m.live(k); b == nil || b.Active != c.Module.Version {
			m.putModule(c.Module)
			m.define(k, task.Version{Version: c.Module.Version, Module: c.Module.Digest, Policy: a.Policy})
			changed = true
		}
	}
	return task.Result{Changed: changed}
}

func (m *Model) put(c task.PutBehavior) task.Result {
	k, outcome := task.Key{Namespace: c.Namespace, ID: c.Name}, task.SubmitCreated
	switch b := m.live(k); {
	case m.writable(c.Namespace) != task.OK:
		return task.Result{Code: m.writable(c.Namespace)}
	case b != nil && !b.External:
		return task.Result{Code: task.OtherKind}
	case b != nil && b.Active == c.Version:
		return task.Result{Outcome: task.SubmitExisting}
	case b != nil:
		outcome = task.SubmitUpdated
	}
	m.define(k, task.Version{Version: c.Version, Policy: c.Policy})
	return task.Result{Changed: true, Outcome: outcome}
}

func (m *Model) rollback(k task.Key, version string) task.Result {
	b := m.live(k)
	if code := m.writable(k.Namespace); code != task.OK {
		return task.Result{Code: code}
	} else if b == nil {
		return task.Result{Code: task.BehaviorNotFound}
	} else if b.Active == version {
		return task.Result{}
	}
	for _, v := range b.Versions {
		if v.Version == version && (v.Module == "") != b.External { // from before a deletion
			return task.Result{Code: task.OtherKind}
		} else if v.Version == version {
			m.define(k, v)
			return task.Result{Changed: true}
		}
	}
	return task.Result{Code: task.VersionNotFound}
}

// deleteBehavior is B8: its tasks wait, its unused versions go.
func (m *Model) deleteBehavior(k task.Key, purge bool) task.Result {
	old := m.Behaviors[k]
	if code := m.writable(k.Namespace); code != task.OK {
		return task.Result{Code: code}
	} else if old == nil || old.Deleted && (old.Purge || !purge) {
		return task.Result{Code: task.BehaviorNotFound}
	}
	b, pinned := *old, m.pinned(k)
	b.Active, b.Deleted, b.Purge, b.Rev = "", true, purge, 0
	b.Versions = slices.DeleteFunc(slices.Clone(b.Versions), func(v task.Version) bool { return !pinned[v.Version] })
	m.Behaviors[k] = &b
	m.unused(k)
	return task.Result{Changed: true}
}

// unused forgets a behavior that is deleted and has no task any longer.
func (m *Model) unused(k task.Key) {
	for _, t := range m.Tasks {
		if t.Namespace == k.Namespace && t.Behavior == k.ID {
			return
		}
	}
	for _, o := range m.Operations {
		if has(o, k) {
			return
		}
	}
	if b := m.Behaviors[k]; b != nil && b.Deleted {
		delete(m.Behaviors, k)
		m.dropModules()
	}
}

func (m *Model) pause(k task.Key, paused bool) task.Result {
	old := m.live(k)
	if code := m.writable(k.Namespace); code != task.OK {
		return task.Result{Code: code}
	} else if old == nil {
		return task.Result{Code: task.BehaviorNotFound}
	} else if old.Paused == paused {
		return task.Result{}
	}
	b := *old
	b.Paused, b.Rev = paused, 0
	m.Behaviors[k] = &b
	return task.Result{Changed: true}
}

// dropModules forgets the modules that no kept version names.
func (m *Model) dropModules() {
	maps.DeleteFunc(m.Modules, func(digest string, _ *task.Module) bool {
		for _, b := range m.Behaviors {
			if slices.ContainsFunc(b.Versions, func(v task.Version) bool { return v.Module == digest }) {
				return false
			}
		}
		return true
	})
}
