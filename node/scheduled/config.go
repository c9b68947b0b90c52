// Package scheduled makes the backups of a cluster that its nodes are told to make by themselves (SPEC C8): a task of a behavior that is built
// into the nodes. DESIGN.md says how.
package scheduled

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/taskrt/taskrt/backup/series"
	"github.com/taskrt/taskrt/backup/target"
	"github.com/taskrt/taskrt/task"
)

// The task that makes backups, its behavior, and the name by which nodes that have a target say that they are ready for it.
const (
	Behavior = "backup"
	Task     = "backup"
	Native   = "native:backup" // task.Version.Module
)

// Key is the key of the task.
func Key() task.Key { return task.Key{Namespace: task.SystemNamespace, ID: Task} }

// Config says where backups go, and how often. The target of nil: this node makes none.
type Config struct {
	Target target.Target
	Every  time.Duration // from the end of a run to the next run; at least MinEvery
	Keep   int           // how many backups are kept; at least 1
	Rate   int64         // bytes per second that are read and written
	Seal   *series.Seal  // nil: they are not encrypted
}

// MinEvery is the least Config.Every: a run writes to the log.
const MinEvery = time.Second

// The defaults of Config.
const (
	DefaultEvery = 24 * time.Hour
	DefaultKeep  = 14
	DefaultRate  = 32 << 20
)

// Validate reports the first field that makes no sense.
func (c Config) Validate() error {
	switch {
	case c.Target == nil:
		return nil
	case c.Every < MinEvery:
		return fmt.Errorf("scheduled: Every %v is below %v", c.Every, MinEvery)
	case c.Keep < 1:
		return fmt.Errorf("scheduled: Keep is %d, less than 1", c.Keep)
	case c.Rate < 1:
		return fmt.Errorf("scheduled: Rate is %d, not positive", c.Rate)
	}
	return nil
}

// The pauses after a run that failed: they double, and runs are tried for ever.
const (
	firstPause = 10 * time.Second
	lastPause  = 10 * time.Minute
)

// policy is the policy of the behavior. Retention never removes its task, and a run may take as long as its rate makes it.
func policy(c Config) task.Policy {
	millis := func(d time.Duration) task.Millis { return task.Millis(d.Milliseconds()) }
	p := task.DefaultPolicy()
	p.Description = description(c)
	p.IDStrategy = task.IDCaller
	p.RunTimeout = millis(24 * time.Hour)
	p.KeepSuccess, p.KeepFailure = -1, -1
	p.RepeatEvery, p.RepeatAny = millis(c.Every), true
	p.Retry.MaxAttempts, p.Retry.InitialInterval, p.Retry.MaxInterval = 0, millis(min(firstPause, c.Every)), millis(min(lastPause, c.Every))
	p.OnTimeout, p.MaxLost = task.OnErrorRetry, 0
	return p
}

// description says where the leader wants backups to go: a node that has another target must not make one.
func description(c Config) string { return "backs the cluster up to " + c.Target.String() }

// module names the version by its policy. So nodes with the same configuration make the same version.
func module(p task.Policy) (task.Module, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return task.Module{}, err
	}
	sum := sha256.Sum256(append([]byte(Native+"\n"), text...))
	return task.Module{Digest: Native, Version: hex.EncodeToString(sum[:])}, nil
}

// Seeds returns the commands that the behavior and its task still need, none if everything is as configured, or if nothing is. The first backup is
// made at once.
func Seeds(m *task.Machine, c Config) ([]task.Command, error) {
	if c.Target == nil {
		return nil, nil
	}
	p := policy(c)
	mod, err := module(p)
	if err != nil {
		return nil, err
	}
	var cmds []task.Command
	if v := m.Version(task.SystemNamespace, Behavior, ""); v == nil || v.Version != mod.Version {
		cmds = append(cmds, task.Activate{
			Namespace: task.SystemNamespace, Module: mod, Behaviors: []task.Activated{{Name: Behavior, Policy: p}},
		})
	}
	submit := task.Submit{Namespace: task.SystemNamespace, ID: Task, Behavior: Behavior, Priority: 4, IfExists: task.Rerun}
	next := m.Now() + task.Time(p.RepeatEvery)
	switch t := m.Task(Key()); {
	case t == nil, t.Final():
		cmds = append(cmds, submit)
	case t.Status != task.Running && t.NotBefore > next: // until now it repeated less often
		submit.IfExists, submit.NotBefore = task.Resubmit, next
		cmds = append(cmds, submit)
	}
	return cmds, nil
}
