package api

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// decodeAnswer decodes an answer as encoding/json would. Those to submits and waits are read in one pass if they are written as
// servers of taskrt write them. Unknown fields are left alone: the server may be newer.
func decodeAnswer(b []byte, v any) error {
	a := answers{scanner: scanner{b: b}}
	read := false
	switch v := v.(type) {
	case *SubmitReply:
		if read = a.reply(v) && a.whole(); !read {
			*v = SubmitReply{}
		}
	case *submitResults:
		if read = a.results(v) && a.whole(); !read {
			*v = submitResults{}
		}
	case *taskAnswer:
		if read = a.answer(v) && a.whole(); !read {
			*v = taskAnswer{}
		}
	}
	if read {
		return nil
	}
	return json.Unmarshal(b, v)
}

// answers reads answers.
type answers struct {
	scanner
	namespace, behavior, status, outcome string // the last ones: those of a batch are mostly the same
}

func (a *answers) whole() bool { return a.end() && utf8.Valid(a.b) }

// unknown passes a member that means nothing here. encoding/json takes names in any case.
func (a *answers) unknown(name []byte) bool {
	for _, c := range name {
		if !isBehaviorByte(c) {
			return false
		}
	}
	return a.value(0)
}

func (a *answers) answer(t *taskAnswer) bool {
	a.space()
	return a.members(func(name []byte) bool {
		if string(name) == "task" && t.Task == nil {
			t.Task = new(Task)
			return a.task(t.Task)
		}
		return string(name) != "task" && a.unknown(name)
	})
}

func (a *answers) reply(r *SubmitReply) bool {
	a.space()
	return a.members(func(name []byte) bool {
		switch string(name) {
		case "task":
			if r.Task != nil {
				return false // encoding/json puts the two together
			}
			r.Task = new(Task)
			return a.task(r.Task)
		case "outcome":
			return a.known(&r.Outcome, &a.outcome)
		case "timed_out":
			return a.bool(&r.TimedOut)
		}
		return a.unknown(name)
	})
}

// replied is an answer in one piece.
type replied struct {
	reply SubmitReply
	task  Task
}

func (a *answers) results(rs *submitResults) bool {
	a.space()
	return a.members(func(name []byte) bool {
		if string(name) != "results" || rs.Results != nil {
			return string(name) != "results" && a.unknown(name)
		}
		rs.Results = []SubmitResult{}
		return a.elements(func() bool {
			rs.Results = append(rs.Results, SubmitResult{})
			return a.result(&rs.Results[len(rs.Results)-1])
		})
	})
}

func (a *answers) result(r *SubmitResult) bool {
	var whole *replied
	return a.members(func(name []byte) bool {
		if string(name) == "error" {
			return a.other(&r.Error)
		}
		if whole == nil {
			whole = new(replied)
			r.SubmitReply = &whole.reply
		}
		switch {
		case string(name) == "task" && whole.reply.Task == nil:
			whole.reply.Task = &whole.task
			return a.task(&whole.task)
		case string(name) == "outcome":
			return a.known(&whole.reply.Outcome, &a.outcome)
		}
		return false
	})
}

// other decodes what is rare.
func (a *answers) other(v any) bool {
	from := a.i
	return a.value(0) && json.Unmarshal(a.b[from:a.i], v) == nil
}

// raw keeps a copy of a value: the whole answer must not be held for it.
func (a *answers) raw(to *json.RawMessage) bool {
	from := a.i
	if !a.value(0) {
		return false
	}
	*to = bytes.Clone(a.b[from:a.i])
	return true
}

func (a *answers) task(t *Task) bool {
	return a.members(func(name []byte) bool {
		switch string(name) {
		case "namespace":
			return a.known(&t.Namespace, &a.namespace)
		case "id":
			return a.string(&t.ID)
		case "behavior":
			return a.known(&t.Behavior, &a.behavior)
		case "version":
			return a.string(&t.Version)
		case "status":
			return a.known(&t.Status, &a.status)
		case "final":
			return a.bool(&t.Final)
		case "params":
			return a.raw(&t.Params)
		case "result":
			return a.raw(&t.Result)
		case "progress":
			return a.raw(&t.Progress)
		case "checkpoint":
			return a.raw(&t.Checkpoint)
		case "params_base64":
			return a.base64(&t.ParamsBase64)
		case "result_base64":
			return a.base64(&t.ResultBase64)
		case "checkpoint_base64":
			return a.base64(&t.CheckpointBase64)
		case "rev":
			return a.uint(&t.Rev)
		case "created_at":
			return a.time(&t.CreatedAt)
		}
		return a.rest(t, name)
	})
}

// rest is what a new task does not have, or has little of.
func (a *answers) rest(t *Task, name []byte) bool {
	switch string(name) {
	case "error":
		return a.other(&t.Error)
	case "not_before":
		return a.timeOrNil(&t.NotBefore)
	case "deadline":
		return a.timeOrNil(&t.Deadline)
	case "attempt":
		return a.int(&t.Attempt)
	case "failures":
		return a.int(&t.Failures)
	case "lost_count":
		return a.int(&t.LostCount)
	case "lease":
		return a.other(&t.Lease)
	case "resubmit":
		return a.other(&t.Resubmit)
	case "cancel_requested":
		return a.bool(&t.CancelRequested)
	case "started_at":
		return a.timeOrNil(&t.StartedAt)
	case "finished_at":
		return a.timeOrNil(&t.FinishedAt)
	case "history":
		if t.History != nil {
			return false
		}
		t.History = []Attempt{}
		return a.elements(func() bool {
			t.History = append(t.History, Attempt{})
			return a.attempt(&t.History[len(t.History)-1])
		})
	case "parent":
		return a.string(&t.Parent)
	case "partition":
		return a.string(&t.Partition)
	case "labels":
		return t.Labels == nil && a.labels(&t.Labels)
	case "priority":
		var n int64
		ok := a.int(&n)
		t.Priority = int(n)
		return ok
	}
	return a.unknown(name)
}

func (a *answers) attempt(t *Attempt) bool {
	return a.members(func(name []byte) bool {
		switch string(name) {
		case "attempt":
			return a.int(&t.Attempt)
		case "token":
			return a.uint(&t.Token)
		case "worker":
			return a.string(&t.Worker)
		case "node":
			return a.string(&t.Node)
		case "started_at":
			return a.time(&t.StartedAt)
		case "finished_at":
			return a.timeOrNil(&t.FinishedAt)
		case "outcome":
			return a.string(&t.Outcome)
		case "fuel_used":
			return a.int(&t.FuelUsed)
		}
		return a.unknown(name)
	})
}
