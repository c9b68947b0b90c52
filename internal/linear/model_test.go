package linear

import (
	"testing"

	"github.com/anishathalye/porcupine"
)

// These tests check the models themselves. They have small histories that are right, and the same histories with one
// error.

// serial makes a history of operations that follow each other.
func serial(steps ...porcupine.Operation) []porcupine.Operation {
	for i := range steps {
		steps[i].Call, steps[i].Return = int64(2*i), int64(2*i+1)
		if steps[i].Output == nil {
			steps[i].Return = forever
		}
	}
	return steps
}

func op(in, out any) porcupine.Operation { return porcupine.Operation{Input: in, Output: out} }

func TestTaskModel(t *testing.T) {
	t.Parallel()
	submit := op(taskInput{op: "submit"}, taskOutput{outcome: "created"})
	leased := func(attempt int64, token uint64) porcupine.Operation {
		return op(taskInput{op: "accept"}, taskOutput{state: taskState{phase: running, attempt: attempt, token: token}})
	}
	finish := func(token uint64, out taskOutput) porcupine.Operation {
		return op(taskInput{op: "finish", token: token, result: "r"}, out)
	}
	get := func(s taskState) porcupine.Operation { return op(taskInput{op: "get"}, taskOutput{state: s}) }
	done := taskState{phase: succeeded, attempt: 1, result: "r"}
	halted := taskOutput{code: "halt"}
	for name, c := range map[string]struct {
		history []porcupine.Operation
		ok      bool
	}{
		"the way of a task":                    {serial(submit, leased(1, 7), finish(7, taskOutput{}), get(done), finish(7, taskOutput{repeated: true})), true},
		"a finish that nobody may make":        {serial(submit, leased(1, 7), finish(6, taskOutput{})), false},
		"halt for the holder of the lease":     {serial(submit, leased(1, 7), finish(7, halted)), false},
		"a second lease while the first lives": {serial(submit, leased(1, 7), leased(2, 8)), false},
		"a token that does not rise":           {serial(submit, leased(1, 7), finish(7, taskOutput{}), op(taskInput{op: "remove"}, taskOutput{}), submit, leased(1, 7)), false},
		"a stale read":                         {serial(submit, leased(1, 7), finish(7, taskOutput{}), get(taskState{phase: running, attempt: 1, token: 7})), false},
		"a submit that vanished":               {serial(submit, op(taskInput{op: "get"}, taskOutput{code: "task_not_found"})), false},
		"a submit without an answer":           {serial(op(taskInput{op: "submit"}, nil), op(taskInput{op: "get"}, taskOutput{code: "task_not_found"}), get(taskState{phase: waiting})), true},
		"created twice":                        {serial(submit, submit), false},
		"half a transaction": {serial(submit, leased(1, 7), op(taskInput{op: "handover", token: 7, result: "r"}, taskOutput{}),
			op(taskInput{op: "get", id: 1}, taskOutput{code: "task_not_found"})), false},
		"a whole one": {serial(submit, leased(1, 7), op(taskInput{op: "handover", token: 7, result: "r"}, taskOutput{}),
			op(taskInput{op: "get", id: 1}, taskOutput{state: taskState{phase: waiting}})), true},
		"a refused one without its reasons": {serial(submit, op(taskInput{op: "guarded", token: 7}, taskOutput{code: "changed:0"})), false},
		"a refused one with all":            {serial(submit, op(taskInput{op: "guarded", token: 7}, taskOutput{code: "changed:0 missing:1"})), true},
		"cancel, then success within the grace": {serial(submit, leased(1, 7), op(taskInput{op: "cancel"}, taskOutput{told: true}),
			finish(7, taskOutput{}), get(done)), true},
		"cancel, then the end of the grace": {serial(submit, leased(1, 7), op(taskInput{op: "cancel"}, taskOutput{told: true}),
			get(taskState{phase: cancelled, attempt: 1}), finish(7, halted)), true},
		"back from the dead": {serial(submit, leased(1, 7), op(taskInput{op: "cancel"}, taskOutput{told: true}),
			get(taskState{phase: cancelled, attempt: 1}), finish(7, taskOutput{})), false},
	} {
		if got := porcupine.CheckOperations(taskModel.ToModel(), c.history); got != c.ok {
			t.Errorf("%s: %t, want %t", name, got, c.ok)
		}
	}
}

func TestTaskModelOfShortLeases(t *testing.T) {
	t.Parallel()
	accept := func(attempt int64, token uint64) porcupine.Operation {
		return op(taskInput{op: "accept", short: true}, taskOutput{state: taskState{phase: running, attempt: attempt, token: token}})
	}
	submit := op(taskInput{op: "submit", short: true}, taskOutput{outcome: "created"})
	late := func(out taskOutput) porcupine.Operation {
		return op(taskInput{op: "finish", short: true, token: 7, result: "r"}, out)
	}
	if h := serial(submit, accept(1, 7), accept(2, 8), late(taskOutput{code: "halt"})); !porcupine.CheckOperations(taskModel.ToModel(), h) {
		t.Error("a lease that expired is no violation")
	}
	if h := serial(submit, accept(1, 7), accept(2, 8), late(taskOutput{})); porcupine.CheckOperations(taskModel.ToModel(), h) {
		t.Error("a late worker committed")
	}
	if h := serial(submit, accept(1, 7), accept(1, 8)); porcupine.CheckOperations(taskModel.ToModel(), h) {
		t.Error("an attempt was given twice")
	}
}

// TestTaskModelOfRepeatedAccepts: an accept is sent again. What the first accept leased is delivered by the second or
// given back, and never both.
func TestTaskModelOfRepeatedAccepts(t *testing.T) {
	t.Parallel()
	submit := func(id int) porcupine.Operation {
		return op(taskInput{op: "submit", id: id}, taskOutput{outcome: "created"})
	}
	first := op(taskInput{op: "accept", request: 1}, nil)
	again := func(request, id int, attempt int64, token uint64) porcupine.Operation {
		return op(taskInput{op: "accept", request: request, resent: true}, taskOutput{id: id, state: taskState{phase: running, attempt: attempt, token: token}})
	}
	none := op(taskInput{op: "accept", request: 3}, taskOutput{none: true})
	get := func(id int, s taskState) porcupine.Operation {
		return op(taskInput{op: "get", id: id}, taskOutput{state: s})
	}
	leased := func(attempt int64, token uint64) taskState {
		return taskState{phase: running, attempt: attempt, token: token}
	}
	for name, c := range map[string]struct {
		history []porcupine.Operation
		ok      bool
	}{
		"the same":                   {serial(submit(0), first, get(0, leased(1, 7)), again(1, 0, 1, 7)), true},
		"another token":              {serial(submit(0), first, get(0, leased(1, 7)), again(1, 0, 1, 8)), false},
		"given back, then again":     {serial(submit(0), first, get(0, leased(1, 7)), again(1, 0, 2, 8)), true},
		"given back, seen":           {serial(submit(0), first, get(0, leased(1, 7)), get(0, taskState{phase: waiting, attempt: 1})), true},
		"two at once":                {serial(submit(0), first, get(0, leased(1, 7)), submit(1), again(1, 1, 1, 8), get(0, leased(1, 7))), false},
		"cancelled, then another":    {serial(submit(0), first, op(taskInput{op: "cancel"}, taskOutput{told: true}), submit(1), again(1, 1, 1, 8)), true},
		"told of a cancel by nobody": {serial(submit(0), op(taskInput{op: "cancel"}, taskOutput{told: true})), false},
		"given back before it came":  {serial(submit(0), none, get(0, taskState{phase: waiting, attempt: 1})), true},
		"a lost one, with a token below that of the next": {serial(submit(0), submit(1), first, again(2, 1, 1, 9), get(0, leased(1, 8))), true},
		"a lost one, with the token of the next":          {serial(submit(0), submit(1), first, again(2, 1, 1, 9), get(0, leased(1, 9))), false},
		"a lost one, with a token that was given before":  {serial(submit(1), again(2, 1, 1, 9), submit(0), first, get(0, leased(1, 8))), false},
		"delivered, but not where it was":                 {serial(submit(0), op(taskInput{op: "accept", request: 1}, taskOutput{state: leased(1, 7)}), get(0, taskState{phase: waiting, attempt: 1})), false},
	} {
		if got := porcupine.CheckOperations(taskModel.ToModel(), c.history); got != c.ok {
			t.Errorf("%s: %t, want %t", name, got, c.ok)
		}
	}
}

func TestStoreModel(t *testing.T) {
	t.Parallel()
	add := func(data string, id uint64) porcupine.Operation {
		return op(storeInput{op: "update", client: 1, add: []string{data}}, storeOutput{tasks: []rec{{data: data, id: id, owner: 1}}})
	}
	claim := func(client int64, tasks ...rec) porcupine.Operation {
		return op(storeInput{op: "claim", client: client}, storeOutput{tasks: tasks})
	}
	list := func(tasks ...rec) porcupine.Operation { return op(storeInput{op: "list"}, storeOutput{tasks: tasks}) }
	mine := rec{data: "a", id: 2, owner: 2, held: true}
	for name, c := range map[string]struct {
		history []porcupine.Operation
		ok      bool
	}{
		"claim":                    {serial(add("a", 1), claim(2, mine), list(mine)), true},
		"claimed twice":            {serial(add("a", 1), claim(2, mine), claim(3, rec{data: "a", id: 3, owner: 3, held: true})), false},
		"nothing to claim, though": {serial(add("a", 1), claim(2)), false},
		"an ID used again":         {serial(add("a", 1), claim(2, rec{data: "a", id: 1, owner: 2, held: true})), false},
		"IDs that fall":            {serial(add("a", 5), add("b", 4)), false},
		"an add done twice":        {serial(add("a", 1), list(rec{data: "a", id: 1, owner: 1}, rec{data: "a", id: 2, owner: 1})), false},
		"a lost add":               {serial(add("a", 1), list()), false},
		"an add without an answer": {serial(op(storeInput{op: "update", client: 1, add: []string{"a"}}, nil), list(), list(rec{data: "a", id: 3, owner: 1})), true},
		"another's record": {serial(add("a", 1), claim(2, mine),
			op(storeInput{op: "update", client: 3, del: 2}, storeOutput{})), false},
		"one's own": {serial(add("a", 1), claim(2, mine), op(storeInput{op: "update", client: 2, del: 2}, storeOutput{}), list()), true},
		"refused for it": {serial(add("a", 1), claim(2, mine),
			op(storeInput{op: "update", client: 3, del: 2, depend: 9}, storeOutput{conflict: "depends owned"})), true},
		"half an update": {serial(add("a", 1),
			op(storeInput{op: "update", client: 1, add: []string{"b"}, del: 1}, storeOutput{tasks: []rec{{data: "b", id: 2, owner: 1}}}),
			list(rec{data: "a", id: 1, owner: 1}, rec{data: "b", id: 2, owner: 1})), false},
	} {
		if got := porcupine.CheckOperations(storeModel.ToModel(), c.history); got != c.ok {
			t.Errorf("%s: %t, want %t", name, got, c.ok)
		}
	}
}
