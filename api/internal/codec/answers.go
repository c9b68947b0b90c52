package codec

import (
	"bytes"
	"encoding/json"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/scan"
)

// DecodeAnswer decodes an answer as encoding/json would. It reads answers to submits and waits in one pass if they are written
// as servers of taskrt write them. It ignores unknown fields: the server may be newer.
func DecodeAnswer(b []byte, v any) error {
	a := answerReader{values: values{scan.New(b)}}
	read := false
	switch v := v.(type) {
	case *api.SubmitReply:
		if read = a.reply(v) && a.Whole(); !read {
			*v = api.SubmitReply{}
		}
	case *SubmitResults:
		if read = a.results(v) && a.Whole(); !read {
			*v = SubmitResults{}
		}
	case *TaskAnswer:
		if read = a.answer(v) && a.Whole(); !read {
			*v = TaskAnswer{}
		}
	}
	if read {
		return nil
	}
	return json.Unmarshal(b, v)
}

// answerReader reads answers.
type answerReader struct {
	values
	namespace, behavior, status, outcome string // the last ones read: in a batch they are mostly the same
}

// unknown passes a member with an unknown name. It refuses a name that has anything but lower-case letters, digits and . _ -,
// because encoding/json, which ignores case, may know it.
func (a *answerReader) unknown(name []byte) bool {
	for _, c := range name {
		if plain := 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-'; !plain {
			return false
		}
	}
	return a.Value(0)
}

func (a *answerReader) answer(t *TaskAnswer) bool {
	a.Space()
	return a.Members(func(name []byte) bool {
		if string(name) == "task" && t.Task == nil {
			t.Task = new(api.Task)
			return a.task(t.Task)
		}
		return string(name) != "task" && a.unknown(name)
	})
}

func (a *answerReader) reply(r *api.SubmitReply) bool {
	a.Space()
	return a.Members(func(name []byte) bool {
		switch string(name) {
		case "task":
			if r.Task != nil {
				return false // because encoding/json puts the two together
			}
			r.Task = new(api.Task)
			return a.task(r.Task)
		case "outcome":
			return a.Known(&r.Outcome, &a.outcome)
		case "timed_out":
			return a.Bool(&r.TimedOut)
		}
		return a.unknown(name)
	})
}

// replied is an answer in one piece.
type replied struct {
	reply api.SubmitReply
	task  api.Task
}

func (a *answerReader) results(rs *SubmitResults) bool {
	a.Space()
	return a.Members(func(name []byte) bool {
		if string(name) != "results" || rs.Results != nil {
			return string(name) != "results" && a.unknown(name)
		}
		rs.Results = []api.SubmitResult{}
		return a.Elements(func() bool {
			rs.Results = append(rs.Results, api.SubmitResult{})
			return a.result(&rs.Results[len(rs.Results)-1])
		})
	})
}

func (a *answerReader) result(r *api.SubmitResult) bool {
	var whole *replied
	return a.Members(func(name []byte) bool {
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
			return a.Known(&whole.reply.Outcome, &a.outcome)
		}
		return false
	})
}

// other decodes a value that is rare.
func (a *answerReader) other(v any) bool {
	from := a.Pos()
	return a.Value(0) && json.Unmarshal(a.Since(from), v) == nil
}

// raw keeps a copy of a value, so that the value does not keep the whole answer in memory.
func (a *answerReader) raw(to *json.RawMessage) bool {
	from := a.Pos()
	if !a.Value(0) {
		return false
	}
	*to = bytes.Clone(a.Since(from))
	return true
}

func (a *answerReader) task(t *api.Task) bool {
	return a.Members(func(name []byte) bool {
		switch string(name) {
		case "namespace":
			return a.Known(&t.Namespace, &a.namespace)
		case "id":
			return a.Text(&t.ID)
		case "behavior":
			return a.Known(&t.Behavior, &a.behavior)
		case "version":
			return a.Text(&t.Version)
		case "status":
			return a.Known(&t.Status, &a.status)
		case "final":
			return a.Bool(&t.Final)
		case "params":
			return a.raw(&t.Params)
		case "result":
			return a.raw(&t.Result)
		case "progress":
			return a.raw(&t.Progress)
		case "checkpoint":
			return a.raw(&t.Checkpoint)
		case "params_base64":
			return a.Base64(&t.ParamsBase64)
		case "result_base64":
			return a.Base64(&t.ResultBase64)
		case "checkpoint_base64":
			return a.Base64(&t.CheckpointBase64)
		case "rev":
			return a.Uint(&t.Rev)
		case "created_at":
			return a.time(&t.CreatedAt)
		}
		return a.rest(t, name)
	})
}

// rest reads the members of a task that a new task does not have, or that are short in it.
func (a *answerReader) rest(t *api.Task, name []byte) bool {
	switch string(name) {
	case "error":
		return a.other(&t.Error)
	case "not_before":
		return a.timeOrNil(&t.NotBefore)
	case "deadline":
		return a.timeOrNil(&t.Deadline)
	case "attempt":
		return a.Int(&t.Attempt)
	case "failures":
		return a.Int(&t.Failures)
	case "lost_count":
		return a.Int(&t.LostCount)
	case "lease":
		return a.other(&t.Lease)
	case "resubmit":
		return a.other(&t.Resubmit)
	case "cancel_requested":
		return a.Bool(&t.CancelRequested)
	case "started_at":
		return a.timeOrNil(&t.StartedAt)
	case "finished_at":
		return a.timeOrNil(&t.FinishedAt)
	case "history":
		if t.History != nil {
			return false
		}
		t.History = []api.Attempt{}
		return a.Elements(func() bool {
			t.History = append(t.History, api.Attempt{})
			return a.attempt(&t.History[len(t.History)-1])
		})
	case "parent":
		return a.Text(&t.Parent)
	case "partition":
		return a.Text(&t.Partition)
	case "labels":
		return t.Labels == nil && a.Labels(&t.Labels)
	case "priority":
		var n int64
		ok := a.Int(&n)
		t.Priority = int(n)
		return ok
	}
	return a.unknown(name)
}

func (a *answerReader) attempt(t *api.Attempt) bool {
	return a.Members(func(name []byte) bool {
		switch string(name) {
		case "attempt":
			return a.Int(&t.Attempt)
		case "token":
			return a.Uint(&t.Token)
		case "worker":
			return a.Text(&t.Worker)
		case "node":
			return a.Text(&t.Node)
		case "started_at":
			return a.time(&t.StartedAt)
		case "finished_at":
			return a.timeOrNil(&t.FinishedAt)
		case "outcome":
			return a.Text(&t.Outcome)
		case "fuel_used":
			return a.Int(&t.FuelUsed)
		}
		return a.unknown(name)
	})
}
