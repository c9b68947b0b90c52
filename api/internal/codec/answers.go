package codec

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/scan"
)

// DecodeAnswer decodes an answer as encoding/json would. It reads answers to submits, waits, accepts and reports in one pass if they are written
// as servers of taskrt write them. It ignores unknown fields: the server may be newer.
func DecodeAnswer(b []byte, v any) error {
	a := answerReader{values: values{scan.New(b)}}
	a.Space()
	read := false
	switch v := v.(type) {
	case *api.SubmitReply:
		if read = a.submitReply(v) && a.Whole(); !read {
			*v = api.SubmitReply{}
		}
	case *SubmitResults:
		if read = a.results(v) && a.Whole(); !read {
			*v = SubmitResults{}
		}
	case *TaskAnswer:
		if read = a.taskAnswer(v) && a.Whole(); !read {
			*v = TaskAnswer{}
		}
	case *api.AcceptReply:
		if read = a.acceptReply(v) && a.Whole(); !read {
			*v = api.AcceptReply{}
		}
	case *api.HeartbeatReply:
		if read = a.heartbeatReply(v) && a.Whole(); !read {
			*v = api.HeartbeatReply{}
		}
	case *api.FinishReply:
		if read = a.finishReply(v) && a.Whole(); !read {
			*v = api.FinishReply{}
		}
	case *FinishResults:
		if read = a.finishResults(v) && a.Whole(); !read {
			*v = FinishResults{}
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

// once makes room for a member, unless the member came before: encoding/json would put the two together.
func once[T any](to **T) bool {
	if *to != nil {
		return false
	}
	*to = new(T)
	return true
}

// elements reads a list, unless the member came before. read reads one element.
func elements[T any](a *answerReader, to *[]T, read func(*T) bool) bool {
	if *to != nil {
		return false
	}
	*to = []T{}
	return a.Elements(func() bool {
		*to = append(*to, *new(T))
		return read(&(*to)[len(*to)-1])
	})
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

// replied is an answer in one piece.
type replied struct {
	reply api.SubmitReply
	task  api.Task
}

func (a *answerReader) results(rs *SubmitResults) bool {
	return a.Members(func(name []byte) bool {
		if string(name) == "results" {
			return elements(a, &rs.Results, a.result)
		}
		return a.unknown(name)
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

func (a *answerReader) acceptReply(r *api.AcceptReply) bool {
	return a.Members(func(name []byte) bool {
		if string(name) == "tasks" {
			return elements(a, &r.Tasks, func(t **api.Task) bool { return once(t) && a.task(*t) })
		}
		return a.unknown(name)
	})
}

func (a *answerReader) finishResults(rs *FinishResults) bool {
	return a.Members(func(name []byte) bool {
		if string(name) == "results" {
			return elements(a, &rs.Results, a.finishResult)
		}
		return a.unknown(name)
	})
}

func (a *answerReader) finishResult(r *api.FinishResult) bool {
	return a.Members(func(name []byte) bool {
		if string(name) == "error" {
			return a.other(&r.Error)
		}
		if r.FinishReply == nil {
			r.FinishReply = new(api.FinishReply)
		}
		switch string(name) {
		case "task":
			return once(&r.Task) && a.task(r.Task)
		case "repeated":
			return a.Bool(&r.Repeated)
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

// CursorAfter returns what stands behind the list of a page.
func CursorAfter(cursor string) []byte {
	if cursor == "" {
		return nil
	}
	return append([]byte(`,"cursor":`), Encode(cursor)...)
}

// AppendCounts appends what a list of tasks says of itself behind the tasks.
func AppendCounts(b []byte, r *api.ListReply) []byte {
	if r.Examined > 0 {
		b = strconv.AppendInt(append(b, `,"examined":`...), r.Examined, 10)
	}
	if r.Count != nil {
		b = strconv.AppendInt(append(b, `,"count":`...), *r.Count, 10)
	}
	if r.CountMore {
		b = append(b, `,"count_more":true`...)
	}
	return b
}
