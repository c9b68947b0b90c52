package node

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/taskrt/taskrt/internal/idle"
	"github.com/taskrt/taskrt/node/maintain"
	"github.com/taskrt/taskrt/task"
)

// maintenancePolicy is the policy of the built-in behavior (SPEC M1). Its task is never removed by itself, and a run takes
// as long as its rates make it.
func maintenancePolicy(c maintain.Config) task.Policy {
	p := task.DefaultPolicy()
	p.Description = "removes what the cluster no longer needs"
	p.IDStrategy = task.IDCaller
	p.RunTimeout = task.Millis((24 * time.Hour).Milliseconds())
	p.KeepSuccess, p.KeepFailure = -1, -1
	p.RepeatEvery, p.RepeatAny = task.Millis(max(c.Every, 0).Milliseconds()), true
	return p
}

// maintenanceModule names the version by what it is: nodes that are set up alike make the same one.
func maintenanceModule(p task.Policy) (task.Module, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return task.Module{}, err
	}
	sum := sha256.Sum256(append([]byte(task.NativeMaintenance+"\n"), text...))
	return task.Module{Digest: task.NativeMaintenance, Version: hex.EncodeToString(sum[:])}, nil
}

// maintenanceSeeds are the commands that the behavior and its task still need, none if all is as configured. always: the
// task is made although it does not repeat.
func maintenanceSeeds(m *task.Machine, c maintain.Config, always bool) ([]task.Command, error) {
	policy := maintenancePolicy(c)
	module, err := maintenanceModule(policy)
	if err != nil {
		return nil, err
	}
	var cmds []task.Command
	if v := m.Version(task.SystemNamespace, task.MaintenanceBehavior, ""); v == nil || v.Version != module.Version {
		cmds = append(cmds, task.Activate{
			Namespace: task.SystemNamespace, Module: module,
			Behaviors: []task.Activated{{Name: task.MaintenanceBehavior, Policy: policy}},
		})
	}
	submit := task.Submit{
		Namespace: task.SystemNamespace, ID: task.MaintenanceTask, Behavior: task.MaintenanceBehavior, Priority: 4,
		NotBefore: m.Now() + task.Time(policy.RepeatEvery), IfExists: task.Rerun,
	}
	t := m.Task(task.MaintenanceKey())
	switch {
	case t == nil && policy.RepeatEvery == 0 && always:
		submit.NotBefore = task.MaxTime // only when it is asked for
		cmds = append(cmds, submit)
	case policy.RepeatEvery == 0:
	case t == nil, t.Final():
		cmds = append(cmds, submit)
	case t.Status != task.Running && t.NotBefore > submit.NotBefore: // it was set up to repeat less often
		submit.IfExists = task.Resubmit
		cmds = append(cmds, submit)
	}
	return cmds, nil
}

// seedPause is how long a leader waits before it tries again to set up what is built in.
const seedPause = time.Second

// seed sets up maintenance as this node is configured, once per term: usually there is nothing to do.
func (t *term) seed() {
	for t.ctx.Err() == nil {
		var cmds []task.Command
		var err error
		t.hub.store.Local(func(m *task.Machine) { cmds, err = maintenanceSeeds(m, t.hub.maintenance, false) })
		if err != nil {
			t.hub.logger.Error("maintenance cannot be set up", "err", err)
			return
		}
		if len(cmds) == 0 {
			return
		}
		rs, err := t.hub.store.ProposeLocal(t.ctx, cmds...)
		for i := range rs {
			if rs[i].Code != task.OK {
				t.hub.logger.Error("maintenance was not set up", "code", rs[i].Code, "reason", rs[i].Message)
				return
			}
		}
		if err == nil {
			return
		}
		idle.For(t.ctx, seedPause)
	}
}
