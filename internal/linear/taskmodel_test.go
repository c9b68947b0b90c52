package linear

import (
	"fmt"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"
)

// This is the model of two tasks of one external behavior (SPEC sections 3, 4, 8, X1). Time may end a lease at any
// moment, or never.

type phase int

const (
	absent phase = iota
	waiting
	running
	succeeded
	cancelled
)

// taskState is the truth about one task.
type taskState struct {
	phase      phase
	attempt    int64
	token      uint64 // the last lease's token; 0: no lease, or nobody was told its token
	cancelling bool
	result     string
	request    int    // the accept that leased it
	after      uint64 // bounds an unknown token: it is higher than this one, and may be lower than later tokens that are known
	loose      bool   // the lease may not have been delivered, so it may be given back at any time
}

// cellState is the state of a cell. It is comparable, as porcupine wants it.
type cellState struct {
	tasks [2]taskState
	most  uint64 // the highest token that was seen; a later lease has a higher token
}

// taskInput is one request.
type taskInput struct {
	op      string // submit, accept, finish, get, cancel, remove, handover, guarded
	short   bool   // leases of the cell expire by themselves
	request int    // accept: its request ID
	resent  bool   // accept: it was sent before, without an answer
	id      int    // 0 or 1: the task; handover finishes it and submits the other, guarded deletes the other
	join    bool   // submit: if_exists=join, else fail
	token   uint64 // finish, handover, guarded
	result  string
}

// taskOutput is one answer. code is "" for success, the code of a problem, or the sorted reasons of a transaction.
type taskOutput struct {
	code     string
	outcome  string // submit: created, existing
	none     bool   // accept: no task
	id       int    // accept
	repeated bool   // finish
	told     bool   // cancel: 202
	state    taskState
}

var taskModel = porcupine.NondeterministicModel{
	Init: func() []any { return []any{cellState{}} },
	Step: func(state, input, output any) []any {
		in := input.(taskInput)
		out, answered := output.(taskOutput)
		var next []any
		for _, s := range state.(cellState).passed(in.short) {
			for _, e := range s.effects(in) {
				switch {
				case !answered:
					next = append(next, e.next)
				case e.matches(in, out):
					next = append(next, e.learn(in, out))
				}
			}
			if !answered {
				next = append(next, s) // the operation may also never happen
			}
		}
		return next
	},
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v → %+v", in, out) },
}

// passed returns the states that time alone can make of s: leases expire, and the graces of cancels end.
func (s cellState) passed(short bool) []cellState {
	states := []cellState{s}
	for i := range s.tasks {
		for _, from := range slices.Clone(states) {
			t := from.tasks[i]
			switch {
			case t.phase != running:
				continue
			case t.cancelling:
				t.phase, t.cancelling = cancelled, false
			case short || t.loose:
				t.phase = waiting
			default:
				continue
			}
			t.request, t.after, t.loose = 0, 0, false
			from.tasks[i] = t
			states = append(states, from)
		}
	}
	return states
}

// effect is one way in which a request may go, with its answer.
type effect struct {
	next cellState
	out  taskOutput
}

func (s cellState) with(i int, t taskState) cellState {
	s.tasks[i] = t
	return s
}

// effects lists the ways in which a request may go. Only accept has more than one.
func (s cellState) effects(in taskInput) []effect {
	t, other := s.tasks[in.id], s.tasks[1-in.id]
	same := func(out taskOutput) []effect { return []effect{{s, out}} }
	switch in.op {
	case "get":
		if t.phase == absent {
			return same(taskOutput{code: "task_not_found"})
		}
		return same(taskOutput{state: t})
	case "submit":
		switch {
		case t.phase == absent:
			return []effect{{s.with(in.id, taskState{phase: waiting}), taskOutput{outcome: "created"}}}
		case in.join:
			return same(taskOutput{outcome: "existing"})
		}
		return same(taskOutput{code: "already_exists"})
	case "accept":
		return s.accept(in)
	case "finish":
		switch {
		case t.holds(in.token):
			return []effect{{s.with(in.id, t.finished(in.result)), taskOutput{}}}
		case t.phase == succeeded && t.token == in.token && t.result == in.result:
			return same(taskOutput{repeated: true})
		}
		return same(taskOutput{code: "halt"})
	case "cancel":
		return s.cancel(in.id)
	case "remove":
		if t.phase == absent {
			return same(taskOutput{code: "task_not_found"})
		}
		return []effect{{s.with(in.id, taskState{}), taskOutput{}}}
	}
	// These are transactions.
	var reasons []string
	reason := func(bad bool, kind string, id int) {
		if bad {
			reasons = append(reasons, fmt.Sprintf("%s:%d", kind, id))
		}
	}
	reason(t.phase == absent, "missing", in.id)
	reason(t.phase != absent && !t.holds(in.token), "changed", in.id)
	var next cellState
	if in.op == "handover" { // it finishes id and submits the other task
		reason(other.phase != absent, "exists", 1-in.id)
		next = s.with(in.id, t.finished(in.result)).with(1-in.id, taskState{phase: waiting})
	} else { // guarded: if token leases id, it deletes the other task
		reason(other.phase == absent, "missing", 1-in.id)
		reason(other.phase == running, "leased", 1-in.id)
		next = s.with(1-in.id, taskState{})
	}
	if len(reasons) > 0 {
		slices.Sort(reasons)
		return same(taskOutput{code: strings.Join(reasons, " ")})
	}
	return []effect{{next, taskOutput{}}}
}

// accept lists the ways of an accept. It may get each waiting task. It may get no task, which says nothing: a lease may
// be over, or be given back, before the answer is on its way. A request that has a lease already gets the same lease.
// An accept that was sent before may give back the lease that it got then, although the lease is delivered now.
func (s cellState) accept(in taskInput) []effect {
	for i, t := range s.tasks {
		if t.phase == running && t.request == in.request {
			out := taskOutput{id: i, state: taskState{phase: running, attempt: t.attempt, token: t.token, after: t.after}}
			return []effect{{s, out}, {s, taskOutput{none: true}}}
		}
	}
	effects := []effect{{s, taskOutput{none: true}}}
	for i, t := range s.tasks {
		if t.phase == waiting {
			leased := taskState{phase: running, attempt: t.attempt + 1, after: s.most}
			out := taskOutput{id: i, state: leased}
			leased.request, leased.loose = in.request, in.resent
			undelivered := leased
			undelivered.loose = true
			effects = append(effects, effect{s.with(i, leased), out}, effect{s.with(i, undelivered), taskOutput{none: true}})
		}
	}
	return effects
}

func (s cellState) cancel(i int) []effect {
	t := s.tasks[i]
	switch t.phase {
	case absent:
		return []effect{{s, taskOutput{code: "task_not_found"}}}
	case waiting:
		t.phase = cancelled
	case running:
		t.cancelling = true
		return []effect{{s.with(i, t), taskOutput{told: true}}}
	case succeeded:
		return []effect{{s, taskOutput{code: "not_cancellable"}}}
	}
	return []effect{{s.with(i, t), taskOutput{}}}
}

// has tells whether a task has, or had, the token.
func (s cellState) has(token uint64) bool {
	return s.tasks[0].token == token || s.tasks[1].token == token
}

// holds tells whether token is the task's current one.
func (t taskState) holds(token uint64) bool {
	return t.phase == running && t.token == token && token != 0
}

func (t taskState) finished(result string) taskState {
	t.phase, t.result, t.cancelling, t.request, t.after, t.loose = succeeded, result, false, 0, 0, false
	return t
}

// matches tells whether this effect gives the answer.
func (e effect) matches(in taskInput, out taskOutput) bool {
	want := e.out
	fresh := want.state.token == 0 && out.state.token > want.state.after && !e.next.has(out.state.token)
	want.state.request, want.state.after, want.state.loose = 0, 0, false // no answer tells these
	switch in.op {
	case "get":
		if fresh && out.state.phase == running {
			want.state.token = out.state.token // nobody was told this lease's token
		}
		if want.state.phase != running { // the record does not show tokens that have ended
			want.state.token = 0
		}
	case "accept":
		if fresh && !want.none { // any token will do, as tokens only have to rise
			want.state.token = out.state.token
		}
	}
	return want == out
}

// learn returns the state with the tokens that the answer tells.
func (e effect) learn(in taskInput, out taskOutput) cellState {
	next := e.next
	i := in.id
	switch {
	case in.op == "accept" && !out.none:
		i = out.id
	case in.op == "get" && out.state.phase == running:
	default:
		return next
	}
	next.tasks[i].token, next.tasks[i].after = out.state.token, 0
	next.most = max(next.most, out.state.token)
	return next
}
