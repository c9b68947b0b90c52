package task_test

import (
	"testing"

	"github.com/taskrt/taskrt/task"
)

// TestSmallWorldAgain is TestSmallWorld for what brings a task back: repeats after any outcome, runs that say when,
// retries by hand on either version, resubmits, and a behavior that is deleted, rolled back and taken up again.
func TestSmallWorldAgain(t *testing.T) {
	w := &world{t: t, seen: map[string]int{}, steps: againSteps()}
	depth := smallWorldDepth - 1
	if testing.Short() || raceEnabled {
		depth--
	}
	policy := task.DefaultPolicy()
	policy.RepeatEvery, policy.RepeatAny, policy.MaxLost = 200, true, 2
	policy.Retry = task.Retry{MaxAttempts: 2, InitialInterval: 100, MultiplierThousandth: 1000, MaxInterval: 100}
	h := task.Header{Term: 1, Now: 1000}
	var log []entry
	for _, c := range []task.Command{
		activateAgain("v1", policy), activateAgain("v2", policy),
		task.OpenSession{Worker: "w1", Slots: 1, TTL: 1000, Proof: []byte("1")},
		task.Submit{Namespace: worldKey.Namespace, ID: worldKey.ID, Behavior: "echo", Deadline: 1400},
	} {
		h.Index++
		log = append(log, entry{h, c})
	}
	w.explore(log, replay(log), depth)
	t.Logf("%d steps, %d states", w.nodes, len(w.seen))
	if w.nodes < 1000 {
		t.Errorf("only %d steps: the world has shrunk", w.nodes)
	}
}

func activateAgain(version string, p task.Policy) task.Command {
	return task.Activate{
		Namespace: task.DefaultNamespace, Module: task.Module{Digest: "m" + version, Version: version},
		Behaviors: []task.Activated{{Name: "echo", Policy: p}},
	}
}

func againSteps() []step {
	const ns = task.DefaultNamespace
	one := func(name string, c func(t *task.Task) task.Command) step { return step{name: name, command: c} }
	fixed := func(c task.Command) func(*task.Task) task.Command { return func(*task.Task) task.Command { return c } }
	finish := func(t *task.Task, e *task.Error, again task.Time) task.Finish {
		return task.Finish{Key: worldKey, Token: token(t), Error: e, Again: again}
	}
	failed, broken := &task.Error{Code: "X", Retryable: true}, &task.Error{Code: "Y"}
	return []step{
		one("assign", func(t *task.Task) task.Command { return task.Assign{Key: worldKey, Rev: rev(t), Session: 1} }),
		one("succeed", func(t *task.Task) task.Command { return finish(t, nil, 0) }),
		one("succeed again", func(t *task.Task) task.Command { return finish(t, nil, 1150) }),
		one("fail", func(t *task.Task) task.Command { return finish(t, failed, 0) }),
		one("fail for good", func(t *task.Task) task.Command { return finish(t, broken, 0) }),
		one("fail again", func(t *task.Task) task.Command { return finish(t, broken, 1150) }),
		one("finish in a transaction", func(t *task.Task) task.Command {
			return task.Txn{Namespace: ns, Depends: []task.TxnDepend{{ID: worldKey.ID, Rev: rev(t)}}, Finishes: []task.Finish{finish(t, failed, 0)}}
		}),
		one("put off", func(t *task.Task) task.Command {
			return task.Txn{Namespace: ns, Updates: []task.TxnUpdate{{ID: worldKey.ID, Delay: new(task.Millis(150))}}}
		}),
		one("checkpoint", func(t *task.Task) task.Command {
			return task.Beat{Key: worldKey, Token: token(t), Checkpoint: &task.Payload{Encoding: task.Bytes, Data: []byte("c")}}
		}),
		one("retry", fixed(task.RetryTask{Key: worldKey})),
		one("retry on the first", fixed(task.RetryTask{Key: worldKey, Version: "v1", Deadline: 1300})),
		one("retry on the active", fixed(task.RetryTask{Key: worldKey, Version: task.VersionActive, KeepCheckpoint: true})),
		one("resubmit", fixed(task.Submit{
			Namespace: ns, ID: worldKey.ID, IfExists: task.Resubmit, Existing: true, Delay: 50,
		})),
		one("cancel", fixed(task.Cancel{Key: worldKey})),
		one("roll back", fixed(task.ActivateVersion{Namespace: ns, Name: "echo", Version: "v1"})),
		one("delete", fixed(task.DeleteBehavior{Namespace: ns, Name: "echo"})),
		one("take up", fixed(activateAgain("v3", task.DefaultPolicy()))),
		{name: "tick", command: fixed(task.Tick{}), now: 150, lease: 600},
	}
}
