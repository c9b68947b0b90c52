package clustertest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker"
)

// Runs records who executed what and when. It uses the stamps taken where guests run, never the leader's records.
type Runs struct {
	t *testing.T

	mu    sync.Mutex
	now   map[task.Key]*Execution // begun and not ended
	begun []*Execution
	spans []Execution // of the engines: between first and last instruction of a guest
}

// Execution is one run of guest code. Times are CLOCK_BOOTTIME ns; Ended is 0 while it goes on.
type Execution struct {
	Where          string // node or worker
	Key            task.Key
	Token          uint64
	Attempt        int64
	Started, Ended int64
}

func (e Execution) String() string {
	return fmt.Sprintf("%s attempt %d token %d on %s [%d..%d]", e.Key.ID, e.Attempt, e.Token, e.Where, e.Started, e.Ended)
}

func newRuns(t *testing.T) *Runs { return &Runs{t: t, now: map[task.Key]*Execution{}} }

// seen returns the OnRun of a worker: it fails the test at the very moment at which a second execution begins.
func (r *Runs) seen(where string) func(worker.Run) {
	return func(run worker.Run) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if run.Ended != 0 {
			if e := r.now[run.Key]; e != nil && e.Token == run.Token {
				e.Started, e.Ended = run.Started, run.Ended
				delete(r.now, run.Key)
			}
			return
		}
		e := &Execution{Where: where, Key: run.Key, Token: run.Token, Attempt: run.Attempt, Started: run.Started}
		if other := r.now[run.Key]; other != nil {
			r.t.Errorf("two executions of one task at the same time (SPEC L1): %v and %v", other, e)
		}
		r.now[run.Key] = e
		r.begun = append(r.begun, e)
	}
}

// span returns the OnRun of a node's engine.
func (r *Runs) span(where string) func(runtime.Span) {
	return func(s runtime.Span) {
		if s.Started == 0 {
			return // no guest code ran
		}
		var info abi.TaskInfo
		if err := json.Unmarshal(s.Info, &info); err != nil || info.ID == "" {
			return // the trial instance of an upload
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.spans = append(r.spans, Execution{
			Where: where, Key: task.Key{Namespace: info.Namespace, ID: info.ID}, Token: info.Token, Attempt: info.Attempt,
			Started: s.Started, Ended: s.Ended,
		})
	}
}

// Of returns the executions of a task, in the order in which they began.
func (r *Runs) Of(id string) []Execution {
	r.mu.Lock()
	defer r.mu.Unlock()
	var es []Execution
	for _, e := range r.begun {
		if e.Key.ID == id {
			es = append(es, *e)
		}
	}
	return es
}

// superseded forgets an execution of a task that still goes on. An operator ended its lease, as a removal does (SPEC L9,
// M1). The next execution may begin before the worker has heard of this. The token of the old execution is dead.
func (r *Runs) superseded(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key := range r.now {
		if key.ID == id {
			delete(r.now, key)
		}
	}
}

// Running returns where a task executes now, "" if nowhere.
func (r *Runs) Running(id string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, e := range r.now {
		if key.ID == id {
			return e.Where
		}
	}
	return ""
}

// check compares the engines' spans: the spans of one task must not overlap (SPEC L1).
func (r *Runs) check() {
	r.mu.Lock()
	defer r.mu.Unlock()
	byKey := map[task.Key][]Execution{}
	for _, s := range r.spans {
		byKey[s.Key] = append(byKey[s.Key], s)
	}
	for _, es := range byKey {
		slices.SortFunc(es, func(a, b Execution) int { return int(a.Started - b.Started) })
		for i := 1; i < len(es); i++ {
			if es[i].Started < es[i-1].Ended {
				r.t.Errorf("two executions overlap (SPEC L1): %v and %v", es[i-1], es[i])
			}
			if es[i].Token < es[i-1].Token {
				r.t.Errorf("an older lease ran after a later one: %v and %v", es[i-1], es[i])
			}
		}
	}
}

// logBuffer keeps the last lines that the members logged, for a test that fails.
type logBuffer struct {
	mu    sync.Mutex
	lines []string
}

const keepLines = 4000

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.lines) >= 2*keepLines {
		b.lines = slices.Clone(b.lines[keepLines:])
	}
	b.lines = append(b.lines, string(p))
	return len(p), nil
}

func (b *logBuffer) dump(t *testing.T) {
	b.mu.Lock()
	defer b.mu.Unlock()
	lines := b.lines[max(0, len(b.lines)-keepLines):]
	t.Logf("what the members logged (the last %d lines):\n%s", len(lines), strings.Join(lines, ""))
}
