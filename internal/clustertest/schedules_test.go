package clustertest

import (
	"flag"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/node"
	"github.com/taskrt/taskrt/task"
)

var (
	schedules      = flag.Int("schedules", 12, "how many random schedules TestSchedules runs")
	mixedSchedules = flag.Int("mixed", 6, "how many random schedules TestMixedSchedules runs")
	firstSeed      = flag.Uint64("seed", 1, "seed of the first of them; the next ones count up")
)

// TestSchedules lets random faults happen to clusters at work, and checks what SPEC promises. A failure prints its
// schedule; go test ./internal/clustertest -run TestSchedules -schedules 1 -seed N runs this schedule again.
func TestSchedules(t *testing.T) {
	n := *schedules
	if testing.Short() {
		n = min(n, 4)
		if raceDetector {
			n = min(n, 2)
		}
	}
	for i := range uint64(n) {
		s := draw(*firstSeed + i)
		t.Run(fmt.Sprintf("seed=%d", s.seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, s.test)
		})
	}
}

func (s *schedule) test(t *testing.T) {
	r := &runner{s: s, tasks: map[string]*known{}, procs: map[string]*process{}}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the schedule that failed:\n%v\nwhat happened:\n%s", s, r.story())
		}
	})
	c := New(t, nodes, Options{SessionTTL: 5 * time.Second, Slots: 3, Configure: func(_ int, cfg *node.Config) {
		if s.compact {
			cfg.Raft.SnapshotBytes, cfg.Raft.TrailingBytes = 1, 1
		}
	}})
	r.c = c
	for _, m := range c.Members {
		r.procs[m.ID] = &process{}
	}
	for i := range s.workers {
		id := fmt.Sprintf("w%d", i+1)
		r.procs[id] = &process{worker: c.AddWorker(id, 2)}
	}
	for _, name := range []string{"echo", "wait", "fails"} {
		c.Push(0, name)
	}
	wasm, _, err := Guest("echo")
	if err != nil {
		t.Fatal(err)
	}
	c.PushWasm(0, "", wasm, []byte(`{"schema":1,"behaviors":[{"name":"equal","id":{"strategy":"params"}}]}`))
	c.WorkersReady(nodes + s.workers)
	r.run()
	c.Finish()
	r.count()
}

// count notes how far the schedule reached. A schedule in which nothing happens proves nothing.
func (r *runner) count() {
	outcomes := map[string]int{}
	attempts := int64(0)
	for _, t := range r.list() {
		attempts += t.Attempt
		for _, h := range t.History {
			outcomes[h.Outcome]++
		}
	}
	r.c.Runs.mu.Lock()
	executions := len(r.c.Runs.begun)
	r.c.Runs.mu.Unlock()
	term, restored := uint64(0), 0
	for _, i := range r.c.Up() {
		st := r.c.Node(i).Store().Status()
		term, restored = max(term, st.Term), restored+st.SnapshotsTaken
	}
	r.c.t.Logf("%d tasks, %d attempts, %d executions, term %d, %d snapshots taken over, ends of attempts: %v",
		len(r.tasks), attempts, executions, term, restored, outcomes)
}

// check compares the tasks after all with what their owners were told. before is the state some time earlier: nothing
// may have changed since.
func (r *runner) check(before, after map[string]*api.Task) {
	for id, k := range r.tasks {
		t := after[id]
		switch {
		case t == nil && k.accepted && !k.removed:
			r.errorf("%s was accepted and has disappeared (SPEC T6)", id)
		case t != nil && k.removed:
			if !k.onItsWay {
				r.errorf("%s was removed and is there again: %s", id, Show(t))
			}
		case t != nil:
			r.checkTask(t, k)
		}
	}
	for id, t := range after {
		if r.tasks[id] == nil {
			r.errorf("nobody submitted %s", Show(t))
		}
		if b := before[id]; b == nil || b.Rev != t.Rev {
			r.errorf("%s changed after its end: %s", id, Show(t))
		}
		if on := r.c.Runs.Running(id); on != "" {
			r.errorf("%s is final and still executes on %s", id, on)
		}
	}
}

func (r *runner) checkTask(t *api.Task, k *known) {
	if k.final != nil && (k.final.Rev != t.Rev || Show(k.final) != Show(t)) {
		r.errorf("final does not stay final (SPEC T1): %s became %s", Show(k.final), Show(t))
	}
	r.checkOutcome(t, k)
	r.checkHistory(t, k)
	r.checkExecutions(t)
}

// checkOutcome: the outcome is the behavior's own, unless the owner asked for another one.
func (r *runner) checkOutcome(t *api.Task, k *known) {
	fails := int64(0)
	if k.behavior == "fails" {
		fails = int64(k.params[0] - '0')
	}
	switch {
	case t.Status == "SUCCESS":
		if string(t.Result) != k.params || fails >= 4 {
			r.errorf("result of %s: %s", t.ID, Show(t))
		}
	case t.Error.Code == task.CodeCancelled:
		if k.cancels == 0 {
			r.errorf("nobody cancelled %s: %s", t.ID, Show(t))
		}
	case t.Error.Code != "fails" || t.Failures != 4 || fails < 4:
		r.errorf("failure of %s: %s", t.ID, Show(t))
	}
}

// checkHistory: attempts and tokens rise, and only the last attempt of a cycle is an outcome.
func (r *runner) checkHistory(t *api.Task, k *known) {
	wants := 0 // how many attempts ended the task
	for i, h := range t.History {
		if i > 0 && (h.Attempt != t.History[i-1].Attempt+1 || h.Token <= t.History[i-1].Token) {
			r.errorf("history of %s does not rise: %s", t.ID, Show(t))
		}
		if h.FinishedAt == nil || h.FinishedAt.Before(h.StartedAt.Time) {
			r.errorf("history of %s: an attempt without an end: %s", t.ID, Show(t))
		}
		if h.Outcome == "SUCCESS" {
			wants++
		}
	}
	if len(t.History) == 0 {
		if t.Attempt != 0 || t.Error == nil || t.Error.Code != task.CodeCancelled {
			r.errorf("%s ended without an attempt: %s", t.ID, Show(t))
		}
		return
	}
	last := t.History[len(t.History)-1]
	if last.Attempt != t.Attempt || int64(len(t.History)) != min(t.Attempt, task.MaxHistory) {
		r.errorf("history of %s is not that of its attempts: %s", t.ID, Show(t))
	}
	if t.Status == "SUCCESS" && k.cancels == 0 && last.Outcome != "SUCCESS" {
		r.errorf("the outcome of %s is not that of its last attempt: %s", t.ID, Show(t))
	}
	if most := 1 + k.reruns + k.perhaps + k.resubmits; wants > most {
		r.errorf("%s succeeded %d times, asked for were %d (SPEC H4): %s", t.ID, wants, most, Show(t))
	}
	if least := 1 + k.reruns; k.behavior != "fails" && k.cancels == 0 && t.Attempt <= task.MaxHistory && wants < least {
		r.errorf("%s succeeded %d times, asked for were %d (SPEC I3): %s", t.ID, wants, least, Show(t))
	}
}

// checkExecutions: guests began in the order of their tokens, no token had a second guest, and there were no more
// guests than attempts. A success was executed. Runs.check, and the beginning of each guest, check that no two guests
// overlapped.
func (r *runner) checkExecutions(t *api.Task) {
	es := r.c.Runs.Of(t.ID)
	for i := 1; i < len(es); i++ {
		if es[i].Token <= es[i-1].Token {
			r.errorf("executions of %s out of order: %v", t.ID, es)
		}
	}
	if int64(len(es)) > t.Attempt {
		r.errorf("%s has %d attempts and was executed more often: %v", t.ID, t.Attempt, es)
	}
	if t.Status != "SUCCESS" {
		return
	}
	won := slices.IndexFunc(es, func(e Execution) bool {
		return slices.ContainsFunc(t.History, func(h api.Attempt) bool { return h.Token == e.Token && h.Outcome == "SUCCESS" })
	})
	if won < 0 {
		r.errorf("%s succeeded and was never executed: %s, %v", t.ID, Show(t), es)
	}
}
