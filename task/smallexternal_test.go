package task_test

import (
	"fmt"
	"testing"

	"github.com/taskrt/taskrt/task"
)

var rivalKey = task.Key{Namespace: task.DefaultNamespace, ID: "rival"}

// TestSmallWorldExternal is TestSmallWorld for an external behavior with a strict limit of one per key: one task that
// everything happens to, and a rival with the same key.
func TestSmallWorldExternal(t *testing.T) {
	w := &world{t: t, seen: map[string]int{}, steps: externalSteps()}
	depth := smallWorldDepth - 1
	if testing.Short() || raceEnabled {
		depth--
	}
	policy := task.DefaultPolicy()
	policy.Retry = task.Retry{MaxAttempts: 2, InitialInterval: 100, MultiplierThousandth: 2000, MaxInterval: 1000}
	policy.MaxLost, policy.RunTimeout, policy.CancelGrace, policy.Lease = 2, 1500, 300, 1000
	policy.MaxPerKey, policy.KeyStrict = 1, true
	submit := func(k task.Key) task.Submit {
		return task.Submit{Namespace: k.Namespace, ID: k.ID, Behavior: "mail", Priority: 4, ConcurrencyKey: "k"}
	}
	h := task.Header{Term: 1, Now: 1000}
	var log []entry
	for _, c := range []task.Command{
		task.PutBehavior{Namespace: task.DefaultNamespace, Name: "mail", Version: "v", Policy: policy}, submit(worldKey), submit(rivalKey),
	} {
		h.Index++
		log = append(log, entry{h, c})
	}
	m := replay(log)
	if m.Task(rivalKey) == nil {
		t.Fatal("there is no rival")
	}
	w.explore(log, m, depth)
	t.Logf("%d steps, %d states", w.nodes, len(w.seen))
	if w.nodes < 1000 || w.both != 0 || w.rival == 0 {
		t.Errorf("%d steps, the rival ran in %d, both ran in %d", w.nodes, w.rival, w.both)
	}
}

func externalSteps() []step {
	one := func(name string, c func(t *task.Task) task.Command) step { return step{name: name, command: c} }
	accept := task.Acceptor{Worker: "ann", Request: "r"}
	early := task.Acceptor{Worker: "bob", MaxNotBefore: 1 << 40}
	fixed := func(c task.Command) func(*task.Task) task.Command { return func(*task.Task) task.Command { return c } }
	return []step{
		one("rerun", fixed(task.Submit{
			Namespace: worldKey.Namespace, ID: worldKey.ID, Behavior: "mail", Priority: 4, IfExists: task.Rerun, ConcurrencyKey: "k",
		})),
		one("accept", func(t *task.Task) task.Command { return task.Assign{Key: worldKey, Rev: rev(t), External: &accept} }),
		one("accept early", func(t *task.Task) task.Command { return task.Assign{Key: worldKey, Rev: rev(t), External: &early} }),
		one("accept the rival", fixed(task.Assign{Key: rivalKey, Rev: 3, External: &accept})),
		one("finish the rival", fixed(task.Finish{Key: rivalKey, Token: 1, External: true})),
		one("succeed", func(t *task.Task) task.Command { return task.Finish{Key: worldKey, Token: token(t), External: true} }),
		one("fail", func(t *task.Task) task.Command {
			return task.Finish{Key: worldKey, Token: token(t), Error: &task.Error{Code: "X", Retryable: true}, External: true}
		}),
		one("not over HTTP", func(t *task.Task) task.Command { return task.Finish{Key: worldKey, Token: token(t)} }),
		{name: "renew", lease: 600, command: func(t *task.Task) task.Command {
			return task.Beat{Key: worldKey, Token: token(t), External: true}
		}},
		one("extend", func(t *task.Task) task.Command {
			return task.Beat{Key: worldKey, Token: token(t), Extend: 2000, External: true}
		}),
		one("progress", func(t *task.Task) task.Command {
			return task.Beat{Key: worldKey, Token: token(t), Seq: 1, Progress: &task.Payload{Encoding: task.Bytes, Data: []byte("p")}, External: true}
		}),
		one("give back", func(t *task.Task) task.Command {
			return task.GiveBack{Key: worldKey, Token: token(t), External: true}
		}),
		one("cancel", fixed(task.Cancel{Key: worldKey})),
		one("pause", fixed(task.PauseBehavior{Namespace: task.DefaultNamespace, Name: "mail", Paused: true})),
		one("resume", fixed(task.PauseBehavior{Namespace: task.DefaultNamespace, Name: "mail"})),
		{name: "tick", command: fixed(task.Tick{}), now: 150, lease: 600},
		{name: "elect", command: fixed(task.Tick{}), now: 500, lease: 900, term: 1},
	}
}

// count notes who runs; both never do, their key has one slot.
func (w *world) count(m *task.Machine) {
	a, b := m.Task(worldKey), m.Task(rivalKey)
	running := func(t *task.Task) bool { return t != nil && t.Status == task.Running }
	if running(b) {
		w.rival++
	}
	if running(a) && running(b) {
		w.both++
		w.t.Fatal(fmt.Sprint("L11: both run:\n", describe(m)))
	}
}
