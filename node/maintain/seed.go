package maintain

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/taskrt/taskrt/task"
)

// policy is the policy of the built-in behavior (SPEC M1). Retention never removes its task, and a run may take as long
// as its rates make it.
func policy(c Config) task.Policy {
	p := task.DefaultPolicy()
	p.Description = "removes what the cluster no longer needs"
	p.IDStrategy = task.IDCaller
	p.RunTimeout = task.Millis((24 * time.Hour).Milliseconds())
	p.KeepSuccess, p.KeepFailure = -1, -1
	p.RepeatEvery, p.RepeatAny = task.Millis(max(c.Every, 0).Milliseconds()), true
	return p
}

// module names the version by its policy. So nodes with the same configuration make the same version.
func module(p task.Policy) (task.Module, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return task.Module{}, err
	}
	sum := sha256.Sum256(append([]byte(task.NativeMaintenance+"\n"), text...))
	return task.Module{Digest: task.NativeMaintenance, Version: hex.EncodeToString(sum[:])}, nil
}

// Seeds returns the commands that the behavior and its task still need, none if everything is as configured. With
// always the task is made even if it does not repeat.
func Seeds(m *task.Machine, c Config, always bool) ([]task.Command, error) {
	p := policy(c)
	mod, err := module(p)
	if err != nil {
		return nil, err
	}
	var cmds []task.Command
	if v := m.Version(task.SystemNamespace, task.MaintenanceBehavior, ""); v == nil || v.Version != mod.Version {
		cmds = append(cmds, task.Activate{
			Namespace: task.SystemNamespace, Module: mod,
			Behaviors: []task.Activated{{Name: task.MaintenanceBehavior, Policy: p}},
		})
	}
	submit := task.Submit{
		Namespace: task.SystemNamespace, ID: task.MaintenanceTask, Behavior: task.MaintenanceBehavior, Priority: 4,
		NotBefore: m.Now() + task.Time(p.RepeatEvery), IfExists: task.Rerun,
	}
	t := m.Task(task.MaintenanceKey())
	switch {
	case t == nil && p.RepeatEvery == 0 && always:
		submit.NotBefore = task.MaxTime // it runs only when it is asked for
		cmds = append(cmds, submit)
	case p.RepeatEvery == 0:
	case t == nil, t.Final():
		cmds = append(cmds, submit)
	case t.Status != task.Running && t.NotBefore > submit.NotBefore: // until now it repeated less often
		submit.IfExists = task.Resubmit
		cmds = append(cmds, submit)
	}
	return cmds, nil
}
