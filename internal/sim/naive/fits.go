package naive

import (
	"strings"

	"github.com/taskrt/taskrt/task"
)

// fits reports whether the task may be taken up now, as it is here. A task of an operation fits only if its operation has come and still lacks this
// task. The ID of another task must not be an ID of an operation's task.
func (m *Model) fits(t *task.Task) bool {
	k := task.Key{Namespace: t.Namespace, ID: t.Parent}
	o := m.Operations[k]
	switch {
	case m.Tasks[name(t)] != nil || t.Role == task.RoleNone && m.reserved(name(t)):
		return false
	case t.Role == task.RoleNone:
		if m.Version(t, t.Version) == nil {
			t.Version = ""
		}
		if t.Version == "" {
			t.Checkpoint = task.Payload{}
		}
		return true
	case o == nil || o.Removing:
		return false
	}
	of, status := o.Behavior, final(t) || o.Status == task.OperationRunning
	if t.Role == task.RoleCompletion {
		of, status = o.Policy.Complete, final(t) == (o.Status != task.OperationCompleting)
	}
	made := t.Role == task.RoleCompletion
	for i := range o.Made {
		at := m.opTask(o, task.RolePartition, partKey(o, i), o.Behavior)
		made = made || at.ID == t.ID && (o.Names == nil && strings.HasSuffix(t.ID, ":"+t.Partition) || o.Names != nil && o.Names[i] == t.Partition)
	}
	if !made || !status || t.Behavior != of {
		return false
	}
	if t.Version != o.Version || o.Policy.Restart {
		t.Checkpoint = task.Payload{}
	}
	if t.Version, t.Deadline, t.ConcurrencyKey = o.Version, 0, ""; o.Stop != "" && !final(t) {
		m.failed(t, &task.Error{Code: task.CodeCancelled})
	}
	return true
}
